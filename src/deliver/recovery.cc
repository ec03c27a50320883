#include "deliver/recovery.h"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/exit_status.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "deliver/delivery.h"
#include "deliver/environment.h"
#include "deliver/follow.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"
#include "deliver/metric_access.h"
#include "deliver/named_runs.h"
#include "os/environment.h"
#include "os/memory.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kRecoveryPatience_ns = 120 * kNsPerSec;
constexpr int64_t kOutage_ns =
    45 * kNsPerSec;  // without anything that worked; an answer that takes long may take longer
constexpr int64_t kShortPatience_ns =
    10 * kNsPerSec;  // when all of it was spent on the run before: nothing can be reached now
constexpr int64_t kWaitForSender_ns = 90 * kNsPerSec;

constexpr size_t kHelpColumn = 26;
const char kHelp[] =
    "Examples:\n"
    "  tacho deliver                  all that waits in the spool\n"
    "  tacho deliver 20261115-a1b2    one run\n\n"
    "Usage: tacho deliver [RUN|DIR...|--all] [--json] [--follow]\n"
    "Sends what a killed run or a dead network left in the spool. RUN is an id, a part of it, last, a job name, or\n"
    "the id that the service gave. DIR is a folder of your own: of a run, or a spool with several; any other is\n"
    "refused. Without a name everything is sent, as with --all. Credentials, and where they go, are those of the\n"
    "environment and of the options here, whatever the spool says.\n"
    "--json prints a JSON object for each run of metrics, and then how many were delivered and how many are left.\n"
    "--follow goes on until SIGTERM, and sends what --deliver later leaves as soon as its run is over.\n\n";

std::string token_from_environment() {
  std::string token;
  for (const char* name : kTokenVariables) {
    if (token.empty()) token = environment(name);
    wipe_environment(name);
  }
  return token;
}

// How long the command waits, for all its runs together: a follower may have a hundred of them in hands, and what
// cannot be reached for one cannot be for the others.
struct Patience {
  int64_t run_ns = kRecoveryPatience_ns;  // for the next run
  int64_t sender_until_ns = system_clock().monotonic_ns() + kWaitForSender_ns;
  std::set<std::string> away;  // receivers of metrics
};

// The deliverer of a killed tacho may still be at it: it is given time to end.
Status take(SpoolRun& run, int64_t until_ns) {
  for (;;) {
    const Status status = run.lock();
    if (status || status.error().code != Code::not_available) return status;
    const int64_t now_ns = system_clock().monotonic_ns();
    if (owner_lives(run) || now_ns >= until_ns) return status;
    system_clock().wait({}, now_ns + 200 * kNsPerMs);
  }
}

enum class RunFate { delivered, left, skipped };

// What stands in the way before anything is done; nothing when the run can be taken.
std::optional<RunFate> look_at(const SpoolRun& run, Role role, const Patience& patience) {
  const std::string kept = "not delivered, kept in " + run.folder() + ": ";
  if (const Status usable = run.usable(); !usable) {
    if (usable.error().code != Code::denied && usable.error().code != Code::io) return RunFate::delivered;
    return log::error("not delivered: " + usable.error().message()), RunFate::left;
  }
  if (!run.has_files()) return RunFate::skipped;  // empty, or somebody else's
  const auto text = run.meta();
  if (!text && text.error().code == Code::not_available) {
    // Killed before the description was written: there can be no row either.
    if (!run.has_rows() && is_run_name(run.name())) return std::nullopt;
    return log::error(kept + "its meta.json is missing, which says where its rows go; they are in the files there"),
           RunFate::left;
  }
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  if (!meta) return log::error(kept + meta.error().message()), RunFate::left;
  const DeliveryKind* kind = kind_of(*meta);
  if (kind == nullptr) return log::error(kept + why_unknown(*meta)), RunFate::left;
  if (const std::string whose = kind->elsewhere(*meta); !whose.empty())
    return log::warn(run.folder() + " belongs to " + whose), role == Role::named ? RunFate::left : RunFate::skipped;
  if (patience.away.contains(meta->api_url))
    return log::error(kept + "its receiver is away (run tacho deliver again)"), RunFate::left;
  return std::nullopt;
}

// The patience is shorter for those that come after one whose time ran out.
RunFate deliver_one(const std::string& folder, Role role, Delivering& shared, Patience& patience) {
  SpoolRun run(folder);
  if (const auto fate = look_at(run, role, patience)) return *fate;
  if (const Status status = take(run, patience.sender_until_ns); !status) {
    if (status.error().code == Code::gone) return RunFate::delivered;
    log::warn(status.error().message());
    // One that still runs is in good hands; one that cannot be locked, on a disk that is read-only now, is not.
    return role == Role::named || status.error().code != Code::not_available ? RunFate::left : RunFate::skipped;
  }
  give_back_memory(true);  // loading has touched most of some thirty libraries, and few of those pages are needed again
  const auto text = run.meta();
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  const std::string url = meta ? meta->api_url : std::string();
  const std::unique_ptr<Delivery> delivery = make_delivery(std::move(run), role, shared);
  int64_t worked_ns = system_clock().monotonic_ns();
  const int64_t deadline_ns = worked_ns + patience.run_ns;
  delivery->finish(deadline_ns);
  for (;;) {
    Step step = delivery->step();
    const int64_t now_ns = system_clock().monotonic_ns();
    if (step.wake_ns <= now_ns) worked_ns = now_ns;  // what failed waits
    if (step.kind == Step::Kind::wait && now_ns - worked_ns > kOutage_ns)
      step.kind = Step::Kind::left, patience.run_ns = kShortPatience_ns;
    if (step.kind != Step::Kind::wait && shared.told) shared.told(*delivery, step.kind == Step::Kind::done);
    if (step.kind == Step::Kind::done) return patience.run_ns = kRecoveryPatience_ns, RunFate::delivered;
    if (step.kind == Step::Kind::left) {
      if (now_ns >= deadline_ns) patience.run_ns = kShortPatience_ns;
      if (const auto metrics = delivery->progress(); metrics && patience.run_ns == kShortPatience_ns)
        patience.away.insert(url);
      constexpr std::string_view kPromise = " (it is tried again)";  // true while a run lives, not of this command
      std::string reason = delivery->reason();
      if (const size_t at = reason.find(kPromise); at != std::string::npos) reason.erase(at, kPromise.size());
      log::error("not delivered, kept in " + folder + ": " + reason + " (run tacho deliver again when that is mended)");
      return RunFate::left;
    }
    system_clock().wait({}, step.wake_ns);
  }
}

// What is left of runs that were delivered goes; a place that is not ours is said, not searched.
void tidy_up(bool say) {
  for (const std::string& root : spool_roots()) {
    const auto folder = OwnedFolder::open(root);
    if (!folder && folder.error().code == Code::denied && say) log::warn(folder.error().message());
    for (const std::string& kept : sweep_delivered(root))
      if (say)
        log::warn("the folder of a run that is done stays, because of something in it that tacho did not make: " +
                  kept);
  }
}

struct DeliverRequest {
  bool all = false, json = false, follow = false, help = false;
  std::vector<std::string> names;
};

// The options, and behind them those of each kind of destination, which set the variables of `variables`.
struct DeliverFlags {
  DeliverFlags() {
    for (const DeliveryKind& kind : delivery_kinds())
      for (const CredentialFlag& known : kind.flags) {
        flags.push_back({known.flag.substr(2), Flag::Kind::text, 0, known.value, known.help});
        variables.push_back(known.variable);
      }
    for (const std::string_view name : delivering::kBareFlags) flags.push_back({name, Flag::Kind::bare});
    flags.push_back({"help", Flag::Kind::bare, 'h'});
  }
  const char* variable_of(const Flag* flag) const {
    const auto at = static_cast<size_t>(flag - flags.data());
    return at < variables.size() ? variables[at] : nullptr;
  }

  std::vector<Flag> flags;
  std::vector<const char*> variables;
};

int print_help() {
  const DeliverFlags known;
  const std::string text = kHelp + flags_help(std::span(known.flags).first(known.variables.size()), kHelpColumn + 2, 1);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

Result<DeliverRequest> parse_request(std::span<const std::string> arguments) {
  DeliverRequest request;
  const DeliverFlags known;
  FlagRules rules;
  rules.dashes = FlagRules::Dashes::words;
  rules.lone_dash_is_unknown = true;
  for (FlagReader reader(arguments, known.flags, rules); reader.next();) {
    const std::string word(reader->word);
    if (reader->kind == FlagWord::Kind::word) {
      request.names.push_back(word);
      continue;
    }
    if (reader->kind == FlagWord::Kind::no_value)
      return Error{Code::invalid, word + " needs a value", "", "see tacho deliver --help"};
    if (reader->kind != FlagWord::Kind::flag)
      return Error{Code::invalid, "unknown option " + word, "",
                   nearest_flag(reader->name, known.flags,
                                "see tacho deliver --help; a name that begins with a dash goes behind --")};
    if (const char* const variable = known.variable_of(reader->flag)) ::setenv(variable, reader->value.c_str(), 1);
    if (reader->flag->name == delivering::kAll) request.all = true;
    if (reader->flag->name == delivering::kJson) request.json = true;
    if (reader->flag->name == delivering::kFollow) request.follow = true;
    if (reader->flag->name != "help") continue;
    request.help = true;
    return request;
  }
  if (request.all && !request.names.empty())
    return Error{Code::invalid, "--all and a name exclude each other", "", "give one of them"};
  if (request.follow && !request.names.empty())
    return Error{Code::invalid, "--follow takes no name", "", "it sends all that becomes free"};
  request.all = request.names.empty();
  return request;
}

}  // namespace

int deliver_command(std::span<const std::string> arguments) {
  const auto request = parse_request(arguments);
  if (!request) return log::error(request.error().message()), kRefused;
  if (request->help) return print_help();
  tidy_up(request->all);
  const auto folders = request->all ? Result<std::vector<std::string>>(all_spooled()) : named_runs(request->names);
  if (!folders) return log::error(folders.error().message()), kRefused;

  ::signal(SIGPIPE, SIG_IGN);
  hide_metric_secrets();
  HttpClient http;
  Notices notices(false);
  Delivering shared{http, notices, token_from_environment(), {}, {}};
  CloudFields cloud;
  complete(shared, cloud, [] { return false; });
  if (request->json) shared.told = print_progress;
  if (request->follow) return follow_spool(shared);
  Patience patience;
  int delivered = 0, left = 0;
  for (const std::string& folder : *folders) {
    const RunFate fate = deliver_one(folder, request->all ? Role::command : Role::named, shared, patience);
    delivered += fate == RunFate::delivered;
    left += fate == RunFate::left;
  }
  std::printf(request->json ? "{\"delivered\": %d, \"left\": %d}\n" : "%d delivered, %d left\n", delivered, left);
  return left > 0 ? 1 : 0;
}

}  // namespace tacho
