// tacho advise RUN…|--job NAME: what size the job needs, and lines to paste. With --prices the cheapest servers of a
// list; with --servers tacho-deliver takes over and asks for them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/sibling.h"
#include "engine/settings.h"
#include "model/prices.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/text_table.h"
#include "report/advice/advice.h"
#include "report/store/human.h"
#include "report/store/input.h"
#include "report/store/newest.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int kNoAdvice = 4;
constexpr size_t kShownServers = 5;

// Naming another price list is asking for it.
bool wants_servers(const ParsedLine& line) {
  return is_set(line, "servers") || !environment_or("TACHO_KEEPER_URL").empty();
}

// The advice becomes the stdin of tacho-deliver. Comes back only when that cannot be: the advice stands by itself then.
void hand_over(const ParsedLine& line, const std::string& advice, bool color) {
  std::vector<std::string> words{std::string(kServersCommand)};
  const auto add = [&words](std::string_view flag) { words.push_back("--" + std::string(flag)); };
  for (const char* option : {"vendor", "region", "architecture"})
    if (const auto value = value_of(line, option)) add(option), words.push_back(*value);
  for (const char* option : {"json", "verbose"})
    if (is_set(line, option)) add(option);
  if (color) add("color");
  const Fd memory(::memfd_create("tacho-advice", MFD_CLOEXEC));
  if (!memory || !write_all(memory.get(), advice) || ::lseek(memory.get(), 0, SEEK_SET) != 0 ||
      ::dup2(memory.get(), STDIN_FILENO) < 0)
    return log::warn("no prices of servers: memory is short");
  log::warn("no prices of servers: " + become_deliver(words, "--servers").message());
}

// The newest that ended well, of a job name.
Result<std::vector<Input>> history_of(const std::string& store_dir, const std::string& job) {
  auto newest = NewestRuns::open(store_dir);
  if (!newest) return newest.error();
  newest->only_job(job);
  std::vector<Input> inputs;
  while (inputs.size() < kMostRuns) {
    const auto stored = newest->next();
    if (!stored) break;
    if (!ended_well(stored->run)) continue;
    auto input = read_input(store_dir, stored->folder);
    if (!input) return input.error();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

Result<Advice> make_advice(const ParsedLine& line, const std::string& store_dir) {
  const auto job = value_of(line, "job");
  const auto inputs = job ? history_of(store_dir, *job) : read_inputs(store_dir, line.words);
  if (!inputs) return inputs.error();
  Advice advice = advise(*inputs);
  if (job && inputs->empty()) {
    advice.refused = "no run of the job " + *job + " has finished well";
    advice.hint = "tacho runs --job " + *job + " lists them; tacho advise last:" + *job + " looks at the newest alone";
  }
  return advice;
}

struct Priced {
  std::vector<Price> servers;
  double seconds = 0;  // that the run took
  double cost(const Price& price) const { return price.per_hour / 3600 * seconds; }
};

Result<Priced> price(const std::string& path, const Advice& advice) {
  const auto text = read_whole_file(path, kLargestPriceList);
  if (!text) return Error{Code::invalid, "cannot read the price list", path, text.error().hint};
  auto list = parse_prices(*text);
  if (!list) {
    Error error = list.error();
    error.path = path;
    return error;
  }
  if (list->skipped > 0)
    log::warn(path + ": " + std::to_string(list->skipped) +
              (list->skipped == 1 ? " line without a name, size or price was passed over"
                                  : " lines without a name, size or price were passed over"));
  const auto needed = [](const std::optional<int64_t>& value) { return static_cast<double>(value.value_or(0)); };
  const ServerNeed need{needed(advice.cpu.advised), needed(advice.memory.advised) / 1024, needed(advice.gpu.advised),
                        needed(advice.vram_mib) / 1024};
  return Priced{cheapest(*list, need, kShownServers), advice.mean_s.value_or(0)};
}

std::string digits(double value, int decimals) {
  Writer out;
  out.put_fixed(value, decimals);
  return std::string(out.view());
}

std::string prices_text(const Priced& priced) {
  if (priced.servers.empty()) return "  server     none of the list is large enough\n";
  Table table{{"  SERVER", "VENDOR", "VCPUS", "MEMORY", "GPUS", "AN HOUR", "THIS RUN", "CURRENCY"}, {}, Overlong::cut};
  table.right = {false, false, true, true, true, true, true, false};
  for (const Price& price : priced.servers)
    table.rows.push_back({"  " + price.server, price.vendor, number_text(price.vcpus),
                          number_text(price.memory_gib) + " GiB", is_absent(price.gpus) ? "" : number_text(price.gpus),
                          digits(price.per_hour, 4), digits(priced.cost(price), 6), price.currency});
  return table.text(false, terminal_width(STDOUT_FILENO));
}

void write_prices(JsonWriter& json, const Priced& priced) {
  json.key("prices").array();
  for (const Price& price : priced.servers) {
    json.object().key("server").value(price.server).key("vendor").value(price.vendor);
    json.key("vcpus").number(price.vcpus, 2).key("memory_gib").number(price.memory_gib, 2);
    json.key("gpus").number(price.gpus, 0).key("gpu_memory_gib").number(price.gpu_memory_gib, 2);
    json.key("price_per_hour").number(price.per_hour, 6).key("currency").value(price.currency);
    json.key("run_cost").number(priced.cost(price), 6).end_object();
  }
  json.end_array();
}

std::string whole_json(const Advice& advice, const std::vector<std::string>& lines, const std::optional<Priced>& priced,
                       bool with_lines) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  write_advice(json, advice);
  if (with_lines) {
    json.key("lines").array();
    for (const std::string& line : lines) json.value(line);
    json.end_array();
  }
  if (priced) write_prices(json, *priced);
  json.end_object();
  return std::string(out.view()) + "\n";
}

Status check_words(const ParsedLine& line) {
  const bool by_job = value_of(line, "job").has_value();
  if (line.words.empty() && !by_job)
    return Error{Code::invalid, "no run to advise on", "",
                 "write tacho advise last, name runs of the same job, or --job NAME"};
  if (!line.words.empty() && by_job)
    return Error{Code::invalid, "--job names the runs already", line.words[0], "give --job NAME or runs"};
  if (value_of(line, "region") && !value_of(line, "vendor"))
    return Error{Code::invalid, "--region needs --vendor", *value_of(line, "region"),
                 "write --vendor aws --region us-east-1"};
  return ok();
}

int say_no(const Advice& advice, bool json) {
  if (json && print(whole_json(advice, {}, std::nullopt, false)) != 0) return 1;
  log::error("no advice: " + advice.refused + (advice.hint.empty() ? "" : " (" + advice.hint + ")"));
  return kNoAdvice;
}

}  // namespace

int advise_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const ParsedLine& line = started.line;
  const auto settings = resolve(line, kAdvise, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (const Status status = check_words(line); !status) return refuse(status.error());
  const auto target = word_of(line, "for");
  if (!target) return refuse(target.error());
  const auto advice = make_advice(line, settings->store_dir);
  if (!advice) return refuse(advice.error());
  const bool json = is_set(line, "json"), color = use_color(settings->color, STDOUT_FILENO);
  std::optional<Priced> priced;
  if (const auto path = value_of(line, "prices")) {
    auto read = price(*path, *advice);  // a list that cannot be read is wrong whatever the advice is
    if (!read) return refuse(read.error());
    priced = std::move(*read);
  }
  if (!advice->refused.empty()) return say_no(*advice, json);
  for (const std::string& warning : advice->warnings) log::warn(warning);
  const std::vector<std::string> lines = *target ? paste_lines(*advice, **target) : std::vector<std::string>();
  const std::string as_json = whole_json(*advice, lines, priced, target->has_value());
  const bool servers = wants_servers(line);
  if (json) {
    if (servers) hand_over(line, as_json, color);
    return print(as_json);
  }
  std::string text;
  for (const std::string& one : lines) text += one + "\n";
  if (!*target) text = fold_text(in_locale(advice_text(*advice, color)), terminal_width(STDOUT_FILENO));
  if (priced) text += in_locale(prices_text(*priced));
  const int status = print(text);
  if (servers && status == 0) hand_over(line, as_json, color);
  return status;
}

}  // namespace tacho
