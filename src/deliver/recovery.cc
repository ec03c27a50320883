#include "deliver/recovery.h"

#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "deliver/delivery.h"
#include "deliver/environment.h"
#include "deliver/leftovers.h"
#include "os/file.h"
#include "os/helper.h"
#include "os/memory.h"

namespace tacho {
namespace {

constexpr int kRefused = 125;
constexpr int64_t kPatience_ns = 120 * kNsPerSec;
constexpr int64_t kOutage_ns = 45 * kNsPerSec;  // without anything that worked; an answer that takes long may take longer
constexpr int64_t kShortPatience_ns = 10 * kNsPerSec;  // when all of it was spent on the run before: nothing can be reached now
constexpr int64_t kWaitForSender_ns = 90 * kNsPerSec;

const char kHelp[] =
    "Examples:\n"
    "  tacho deliver                  all that waits in the spool\n"
    "  tacho deliver 20261115-a1b2    one run\n\n"
    "Usage: tacho deliver [RUN|DIR...|--all] [--json]\n"
    "Sends what a killed run or a dead network left in the spool. RUN is an id, a part of it, last, a job name, or the service's;\n"
    "DIR is the folder in the spool. Without a name everything is sent, as with --all.\n"
    "--json prints how many were delivered and how many are left as one JSON object.\n";

std::string token_from_environment() {
  std::string token;
  for (const char* name : {"SENTINEL_API_TOKEN", "SENTINEL_API_KEY"}) {
    const char* value = std::getenv(name);
    if (token.empty() && value != nullptr) token = trim(value);
    wipe_environment(name);
  }
  return token;
}

// The deliverer of a killed tacho may still be at it: it is given time to end.
Status take(SpoolRun& run) {
  const int64_t until_ns = system_clock().monotonic_ns() + kWaitForSender_ns;
  for (;;) {
    const Status status = run.lock();
    if (status || status.error().code != Code::not_available) return status;
    const int64_t now_ns = system_clock().monotonic_ns();
    if (owner_lives(run) || now_ns >= until_ns) return status;
    system_clock().wait({}, now_ns + 200 * kNsPerMs);
  }
}

// The one run whose id has this part of 4 characters or more, or the name itself. tacho has made an id of what only its store
// can know (last, a job name).
Result<std::string> whole_id(const std::string& name) {
  std::set<std::string> ids;
  for (const std::string& folder : all_spooled()) {
    const SpoolRun run(folder);
    const auto text = run.meta();
    const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
    if (run.name() == name || (meta && meta->run == name)) return name;
    if (meta && name.size() >= 4 && meta->run.find(name) != std::string::npos) ids.insert(meta->run);
  }
  if (ids.size() <= 1) return ids.empty() ? name : *ids.begin();
  std::string which;
  for (const std::string& id : ids) which += (which.empty() ? "" : ", ") + id;
  return Error{Code::invalid, "several runs fit", name, "which one: " + which + "?"};
}

// Folders of the runs that are meant; an Error names one that is not there.
Result<std::vector<std::string>> resolve(std::span<const std::string> names) {
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    struct stat info{};
    if (name.find('/') != std::string::npos && ::stat(name.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      chosen.push_back(name.ends_with('/') ? name.substr(0, name.size() - 1) : name);
      continue;
    }
    const size_t before = chosen.size();
    const auto id = whole_id(name);
    if (!id) return id.error();
    for (const std::string& folder : all_spooled()) {
      const SpoolRun run(folder);
      const auto text = run.meta(), state = run.state();
      const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
      const bool is_meant = run.name() == name || (meta && meta->run == *id) || (state && parse_state(*state).run_id == name);
      if (is_meant) chosen.push_back(folder);
    }
    if (chosen.size() == before)
      return Error{Code::invalid, "there is no such run in the spool", name,
                   "it may be delivered already; tacho deliver --all sends all that is left"};
  }
  return chosen;
}

enum class Fate { delivered, left, skipped };

// `patience_ns` is shorter for those that come after one whose time ran out.
Fate deliver_one(const std::string& folder, Role role, Delivering& shared, int64_t& patience_ns) {
  SpoolRun run(folder);
  const auto text = run.meta();
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  const bool is_described = !meta || meta->bigquery || !meta->bucket_uri.empty() || !meta->api_url.empty();
  if (!is_described) {
    log::error("not delivered, kept in " + folder + ": its meta.json names no destination; its rows are in the .csv files there");
    return Fate::left;
  }
  if (meta && !meta->bigquery && meta->bucket_uri.empty() && meta->api_url != service_url()) {
    log::warn(folder + " belongs to " + meta->api_url + " and is left alone (set SENTINEL_API_URL to send it)");
    return role == Role::named ? Fate::left : Fate::skipped;
  }
  if (const Status status = take(run); !status) {
    if (status.error().code == Code::gone) return Fate::delivered;
    log::warn(status.error().message());
    // One that still runs is in good hands; one that cannot be locked, on a disk that is read-only now, is not.
    return role == Role::named || status.error().code != Code::not_available ? Fate::left : Fate::skipped;
  }
  give_back_memory(true);  // loading has touched most of some thirty libraries, and few of those pages are needed again
  const std::unique_ptr<Delivery> delivery = make_delivery(std::move(run), role, shared);
  int64_t worked_ns = system_clock().monotonic_ns();
  const int64_t deadline_ns = worked_ns + patience_ns;
  delivery->owner_ended(deadline_ns);
  for (;;) {
    Step step = delivery->step();
    const int64_t now_ns = system_clock().monotonic_ns();
    if (step.wake_ns <= now_ns) worked_ns = now_ns;  // what failed waits
    if (step.kind == Step::Kind::wait && now_ns - worked_ns > kOutage_ns) step.kind = Step::Kind::left, patience_ns = kShortPatience_ns;
    if (step.kind == Step::Kind::done) return patience_ns = kPatience_ns, Fate::delivered;
    if (step.kind == Step::Kind::left) {
      if (now_ns >= deadline_ns) patience_ns = kShortPatience_ns;
      constexpr std::string_view kPromise = " (it is tried again)";  // true while a run lives, not of this command
      std::string reason = delivery->reason();
      if (const size_t at = reason.find(kPromise); at != std::string::npos) reason.erase(at, kPromise.size());
      log::error("not delivered, kept in " + folder + ": " + reason + " (run tacho deliver again when that is mended)");
      return Fate::left;
    }
    system_clock().wait({}, step.wake_ns);
  }
}

}  // namespace

int deliver_command(std::span<const std::string> arguments) {
  bool all = false, json = false;
  std::vector<std::string> names;
  for (const std::string& word : arguments) {
    if (word == "-h" || word == "--help") return std::fputs(kHelp, stdout) < 0 ? 1 : 0;
    if (word == "--all") all = true;
    else if (word == "--json") json = true;
    else if (word.starts_with("-")) return log::error("unknown option " + word + "; did you mean --all? See tacho deliver --help"), kRefused;
    else names.push_back(word);
  }
  if (all && !names.empty()) return log::error("--all and a name exclude each other; give one of them"), kRefused;
  all = names.empty();
  const auto folders = all ? Result<std::vector<std::string>>(all_spooled()) : resolve(names);
  if (!folders) return log::error(folders.error().message()), kRefused;

  ::signal(SIGPIPE, SIG_IGN);
  HttpClient http;
  Reporter reporter(false);
  Delivering shared{http, reporter, token_from_environment(), {}, {}};
  CloudFields cloud;
  complete(shared, cloud, [] { return false; });
  int64_t patience_ns = kPatience_ns;
  int delivered = 0, left = 0;
  for (const std::string& folder : *folders) {
    const Fate fate = deliver_one(folder, all ? Role::command : Role::named, shared, patience_ns);
    delivered += fate == Fate::delivered;
    left += fate == Fate::left;
  }
  std::printf(json ? "{\"delivered\": %d, \"left\": %d}\n" : "%d delivered, %d left\n", delivered, left);
  return left > 0 ? 1 : 0;
}

}  // namespace tacho
