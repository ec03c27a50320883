// tacho prune and tacho rm: runs are removed from the store, by rules or by name.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/undelivered.h"
#include "engine/settings.h"
#include "os/clock.h"
#include "os/text_table.h"
#include "report/store/human.h"
#include "report/store/newest.h"
#include "report/store/removal.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

struct Rules {
  std::optional<int64_t> before_ns, keep;
  std::optional<std::string> job;
};

Result<Rules> rules_of(const ParsedLine& line) {
  const auto older = duration_of(line, "older");
  if (!older) return older.error();
  const auto keep = number_of(line, "keep", 0);
  if (!keep) return keep.error();
  Rules rules{{}, *keep, value_of(line, "job")};
  if (*older) rules.before_ns = system_clock().realtime_ns() - **older;
  if (!rules.before_ns && !rules.keep && !rules.job)
    return Error{Code::invalid, "prune needs a rule", "",
                 "write --older 30d, --keep 100 or --job NAME; --dry-run says what would go"};
  return rules;
}

// When it was over: a run of a week that ended today is not a week old.
int64_t end_ns(const Outcome& outcome) {
  return outcome.finished_realtime_ns > 0 ? outcome.finished_realtime_ns
                                          : outcome.started_realtime_ns + outcome.duration_ns;
}

struct Plan {
  struct Item {
    StoredRun stored;
    int64_t bytes = 0;
    std::string kept;  // why it stays
  };
  std::vector<Item> items;
  int64_t bytes() const {
    int64_t sum = 0;
    for (const Item& item : items) sum += item.kept.empty() ? item.bytes : 0;
    return sum;
  }
  size_t count() const {
    size_t sum = 0;
    for (const Item& item : items) sum += item.kept.empty() ? 1 : 0;
    return sum;
  }
};

void add(Plan& plan, const std::string& store_dir, StoredRun stored, const UndeliveredRuns& undelivered) {
  Plan::Item item{std::move(stored), 0, ""};
  item.kept = reason_to_keep(store_dir, item.stored);
  if (item.kept.empty() && undelivered.has(item.stored.run.id))
    item.kept = "it has rows that are not delivered yet; tacho deliver " + item.stored.shown_id() + " sends them";
  if (item.kept.empty()) {
    const auto weight = weigh_run(store_dir, item.stored);
    if (weight) item.bytes = weight->bytes;
    else item.kept = weight.error().message();
  }
  plan.items.push_back(std::move(item));
}

Result<Plan> plan_of(const std::string& store_dir, const Rules& rules) {
  auto newest = NewestRuns::open(store_dir, Unreadable::told);
  if (!newest) return newest.error();
  if (rules.job) newest->only_job(*rules.job);
  const UndeliveredRuns undelivered;
  Plan plan;
  for (int64_t seen = 0; auto stored = newest->next(); ++seen) {
    if (rules.keep && seen < *rules.keep) continue;
    if (rules.before_ns && end_ns(stored->run.outcome) >= *rules.before_ns) continue;
    add(plan, store_dir, std::move(*stored), undelivered);
  }
  return plan;
}

std::string plan_text(const Plan& plan, bool color) {
  Table table{{"RUN", "JOB", "WHEN", "BYTES", "COMMAND"}, {}, Overlong::cut};
  table.right = {false, false, false, true, false};
  table.firm = {true, false, true, true, false};
  std::string kept;
  for (const Plan::Item& item : plan.items) {
    const Run& run = item.stored.run;
    if (item.kept.empty())
      table.rows.push_back({item.stored.shown_id(), harmless_text(run.metadata.job_name),
                            local_time_text(run.outcome.started_realtime_ns, false),
                            bytes_text(static_cast<double>(item.bytes)), command_text(run, 1000)});
    else kept += "kept: " + item.stored.shown_id() + ": " + item.kept + "\n";
  }
  return (table.rows.empty() ? "" : table.text(color, terminal_width(STDOUT_FILENO))) + kept;
}

std::string sum_text(size_t count, int64_t bytes) {
  return std::to_string(count) + (count == 1 ? " run, " : " runs, ") + bytes_text(static_cast<double>(bytes)) + " (" +
         std::to_string(bytes) + " bytes)";
}

std::string plan_json(const Plan& plan, bool removed) {
  Writer out;
  JsonWriter json(out, true);
  json.object().key("removed").value(removed).key("runs").array();
  for (const Plan::Item& item : plan.items) {
    if (!item.kept.empty()) continue;
    json.object().key("id").value(item.stored.run.id).key("bytes").integer(item.bytes).end_object();
  }
  json.end_array().key("bytes").integer(plan.bytes()).key("kept").array();
  for (const Plan::Item& item : plan.items) {
    if (item.kept.empty()) continue;
    json.object().key("id").value(item.stored.run.id).key("why").value(item.kept).end_object();
  }
  json.end_array().end_object();
  return std::string(out.view()) + "\n";
}

// What goes is subtracted from what was planned where it could not.
bool carry_out(Plan& plan, const std::string& store_dir) {
  bool all = true;
  for (Plan::Item& item : plan.items) {
    if (!item.kept.empty()) continue;
    const auto removed = remove_run(store_dir, item.stored);
    if (!removed) {
      item.kept = removed.error().message();
      log::error("not removed: " + item.stored.shown_id() + ": " + item.kept);
      all = false;
      continue;
    }
    item.bytes = removed->bytes;
    std::string left;
    for (const std::string& name : removed->left) left += (left.empty() ? "" : ", ") + name;
    if (!left.empty())
      log::warn("the folder stays, for what tacho did not make in it: " + item.stored.folder + " (" + left + ")");
  }
  return all;
}

// By read(): std::cin costs every start of the program a tenth of its time, whether it is used or not.
std::string line_of_answer() {
  std::string answer;
  for (char byte = 0; answer.size() < 64 && byte != '\n';) {
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (byte != '\n') answer += byte;
  }
  return answer;
}

bool is_asked_for(const std::string& question) {
  if (print_text(question + " [y/N] ") != 0) return false;
  const std::string answer = line_of_answer();
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

int prune_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const ParsedLine& line = started.line;
  if (!line.words.empty())
    return refuse(
        {Code::invalid, "prune goes by rules", line.words[0], "one run is removed by tacho rm " + line.words[0]});
  const auto settings = resolve(line, kPrune, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto rules = rules_of(line);
  if (!rules) return refuse(rules.error());
  auto plan = plan_of(settings->store_dir, *rules);
  if (!plan) return refuse(plan.error());
  const bool json = is_set(line, "json"), dry = is_set(line, "dry-run"), yes = is_set(line, "yes");
  const bool can_ask = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && !json;
  if (!json && print_text(plan_text(*plan, use_color(settings->color, STDOUT_FILENO))) != 0) return 1;
  const std::string sum = sum_text(plan->count(), plan->bytes());
  if (dry) return json ? print(plan_json(*plan, false)) : print_text("would remove " + sum + "\n");
  if (!yes && !can_ask)
    return refuse({Code::invalid, "nothing was removed", sum, "add --yes, or --dry-run to only look"});
  if (!yes && plan->count() > 0 && !is_asked_for("remove " + sum + "?")) return print_text("nothing was removed\n");
  const bool all = carry_out(*plan, settings->store_dir);
  const int printed = print(json ? plan_json(*plan, true) : "removed " + sum_text(plan->count(), plan->bytes()) + "\n");
  return printed != 0 || !all ? 1 : 0;
}

int rm_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kRm, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (started.line.words.empty())
    return refuse({Code::invalid, "rm takes runs", "",
                   "write tacho rm RUN; tacho runs lists them, tacho prune --older 30d removes old ones"});
  const UndeliveredRuns undelivered;
  Plan plan;
  for (const std::string& word : started.line.words) {
    auto stored = find_run(settings->store_dir, word);
    if (!stored) return refuse(stored.error());
    const auto is_same = [&](const Plan::Item& item) { return item.stored.run.id == stored->run.id; };
    if (std::any_of(plan.items.begin(), plan.items.end(), is_same)) continue;
    add(plan, settings->store_dir, std::move(*stored), undelivered);
    if (const Plan::Item& item = plan.items.back(); !item.kept.empty())
      return refuse({Code::invalid, "nothing was removed: " + item.stored.shown_id(), "", item.kept});
  }
  const bool all = carry_out(plan, settings->store_dir);
  return print("removed " + sum_text(plan.count(), plan.bytes()) + "\n") != 0 || !all ? 1 : 0;
}

}  // namespace tacho
