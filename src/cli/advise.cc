// tacho advise RUN…: what size the job needs. With --servers tacho-deliver takes over and adds what such a size costs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/sibling.h"
#include "cli/terminal.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "report/advice.h"
#include "report/input.h"

namespace tacho {
namespace {

std::string value_of(const ParsedLine& line, std::string_view option) {
  std::string value;
  for (const Given& given : line.given)
    if (given.option->name == option) value = given.value;
  return value;
}

// Naming another price list is asking for it.
bool wants_servers(const ParsedLine& line) {
  return is_set(line, "servers") || !environment_or("TACHO_KEEPER_URL").empty();
}

// The advice becomes the stdin of tacho-deliver. Comes back only when that cannot be: the advice stands by itself then.
void hand_over(const ParsedLine& line, const std::string& advice, bool color) {
  std::vector<std::string> words{"servers"};
  for (const std::string option : {"vendor", "region", "architecture"})
    if (const std::string value = value_of(line, option); !value.empty())
      words.insert(words.end(), {"--" + option, value});
  if (is_set(line, "json")) words.push_back("--json");
  if (is_set(line, "verbose")) words.push_back("--verbose");
  if (color) words.push_back("--color");
  const Fd memory(::memfd_create("tacho-advice", MFD_CLOEXEC));
  if (!memory || !write_all(memory.get(), advice) || ::lseek(memory.get(), 0, SEEK_SET) != 0 ||
      ::dup2(memory.get(), STDIN_FILENO) < 0)
    return log::warn("no prices of servers: memory is short");
  log::warn("no prices of servers: " + become_deliver(words, "--servers").message());
}

}  // namespace

int advise_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const ParsedLine& line = started.line;
  const auto settings = resolve(line, kAdvise, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (line.words.empty())
    return refuse({Code::invalid, "no run to advise on", "", "write tacho advise last, or name runs of the same job"});
  if (!value_of(line, "region").empty() && value_of(line, "vendor").empty())
    return refuse(
        {Code::invalid, "--region needs --vendor", value_of(line, "region"), "write --vendor aws --region us-east-1"});
  const auto inputs = read_inputs(settings->store_dir, line.words);
  if (!inputs) return refuse(inputs.error());
  const Advice advice = advise(*inputs);
  if (!advice.cpu && !advice.memory_mib)
    return refuse({Code::invalid, "there is no job to advise on", advice.runs.front(),
                   "its rows tell nothing of a job; record one: tacho run -- CMD"});
  const bool json = is_set(line, "json"), color = use_color(settings->color, STDOUT_FILENO);
  const bool servers = wants_servers(line);
  if (json) {
    if (servers) hand_over(line, advice_json(advice), color);
    return print(advice_json(advice));
  }
  const int status = print(advice_text(advice, color));
  if (servers && status == 0) hand_over(line, advice_json(advice), color);
  return status;
}

}  // namespace tacho
