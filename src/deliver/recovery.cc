#include "deliver/recovery.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "deliver/delivery.h"
#include "deliver/environment.h"
#include "deliver/follow.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"
#include "deliver/metric_access.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/helper.h"
#include "os/memory.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int kRefused = 125;
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
    "Sends what a killed run or a dead network left in the spool. RUN is an id, a part of it, last, a job name, or the "
    "service's;\n"
    "DIR is the folder of a run or a spool with several, of your own; any other folder is refused. Without a name "
    "everything\n"
    "is sent, as with --all. Credentials, and where they go, are those of the environment and of the options here; "
    "what a spool\n"
    "says of that is not obeyed.\n"
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

// meta.json of a run, by what it must have; of anything else that is called so nothing is known.
bool is_meta(const Result<std::string>& text) {
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  return meta && kind_of(*meta) != nullptr;
}

// What the spool writes into the two: a process number, and lines of seals.
bool is_lock(const Result<std::string>& text) {
  return text &&
         (text->empty() || parse_int<pid_t>(trim(std::string_view(*text).substr(0, text->find('\n')))).has_value());
}
bool is_seals(const Result<std::string>& text) {
  return text && !text->empty() && parse_seal(std::string_view(*text).substr(0, text->find('\n'))).has_value();
}

// A file of that name alone does not make a folder a run's: meta.json, lock and 000001.csv are what many things are
// called.
bool is_run(const OwnedFolder& folder, std::string_view name) {
  const bool has_lock = is_lock(folder.read(kLockName, 1 << 12)), has_seals = is_seals(folder.read(kSealsName));
  if (is_meta(folder.read(kMetaName))) return has_lock || has_seals || is_run_name(name);
  if (!is_run_name(name)) return has_lock && has_seals;
  bool has_files = false;
  folder.list([&](std::string_view entry) { has_files = has_files || is_spool_file(entry); });
  return has_files;
}

// The run whose rows went to a folder of this name when its disk was full. It may be alive and writing there, whatever
// else lies in it.
std::string_view run_of_overflow(std::string_view name) {
  if (!name.ends_with(kOverflowEnding)) return {};
  name.remove_suffix(kOverflowEnding.size());
  return is_run_name(name) ? name : std::string_view();
}

// The runs of a folder that a person named: itself, or those in it where it is a spool. Nothing is changed.
Result<std::vector<std::string>> runs_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string_view last = last_part(path);
  if (last == "." || last == "..")
    if (char* whole = ::realpath(path.c_str(), nullptr)) path = whole, ::free(whole);
  if (path.find('/') == std::string::npos) path.insert(0, "./");
  const auto folder = OwnedFolder::open(path);
  if (!folder) return folder.error();
  if (const std::string_view run = run_of_overflow(last_part(path)); !run.empty())
    return Error{
        Code::invalid, "this folder has some of the rows of a run that lies elsewhere, and was not touched", path,
        "tacho deliver " + std::string(run) + " sends them; if that run is lost, copy this folder under another name"};
  if (is_run(*folder, last_part(path))) return std::vector<std::string>{path};
  std::vector<std::string> runs, names;
  folder->list([&](std::string_view name) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!run_of_overflow(name).empty()) continue;
    const auto run = folder->open_folder(name);
    // One that is not ours is said later, by its name.
    if (run ? is_run(*run, name) : is_run_name(name) && run.error().code == Code::denied)
      runs.push_back(folder->path_of(name));
  }
  const std::vector<std::string> roots = spool_roots();
  if (!runs.empty() || std::find(roots.begin(), roots.end(), path) != roots.end()) return runs;
  return Error{Code::invalid, "this is neither the folder of a run nor a spool; nothing in it was touched", path,
               "tacho deliver --all sends all that is left in the spool"};
}

// The one run whose id has this part of 4 characters or more, or the name itself. tacho has made an id of what only its
// store can know (last, a job name).
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

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Runs in the spool that a bare word means: by their folder's name, by their id (`id`: the whole one), or by the
// service's.
std::vector<std::string> spooled_as(const std::string& name, const std::string& id) {
  std::vector<std::string> found;
  for (const std::string& folder : all_spooled()) {
    const SpoolRun run(folder);
    const auto text = run.meta(), state_text = run.state();
    const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
    const auto state = state_text ? parse_spool_state(*state_text) : Result<SpoolState>(SpoolState{});
    if (run.name() == name || (meta && meta->run == id) || (state && state->run_id == name)) found.push_back(folder);
  }
  return found;
}

// A bare word that means runs of the spool and is a folder here, too: only the person knows which. All of an id means
// the run, unless that folder could be sent as well.
Status check_meaning(const std::string& name, const std::string& id, const std::vector<std::string>& runs) {
  if (!is_folder(name) || (runs.size() == 1 && same_file(runs[0], name))) return ok();
  const auto in_it = runs_of(name);
  if (name == id && (!in_it || in_it->empty())) return ok();
  return Error{Code::invalid, "both a run in the spool and a folder here are called so", name,
               "for the run write " + (name == id ? runs[0] : id) + ", for the folder ./" + name};
}

// Folders of the runs that are meant; an Error names one that is not there.
Result<std::vector<std::string>> resolve(std::span<const std::string> names) {
  std::vector<std::string> chosen;
  const auto add = [&](const std::vector<std::string>& runs) {
    for (const std::string& run : runs)
      if (std::find(chosen.begin(), chosen.end(), run) == chosen.end()) chosen.push_back(run);
  };
  for (const std::string& name : names) {
    if (name.find('/') == std::string::npos) {
      const auto id = whole_id(name);
      if (!id) return id.error();
      const std::vector<std::string> runs = spooled_as(name, *id);
      if (!runs.empty())
        if (const Status status = check_meaning(name, *id, runs); !status) return status.error();
      add(runs);
      if (!runs.empty()) continue;
    }
    if (!is_folder(name))
      return Error{Code::invalid, "there is no such run in the spool", name,
                   "it may be delivered already; tacho deliver --all sends all that is left"};
    const auto runs = runs_of(name);
    if (!runs) return runs.error();
    add(*runs);
  }
  return chosen;
}

enum class Fate { delivered, left, skipped };

// What stands in the way before anything is done; nothing when the run can be taken.
std::optional<Fate> look_at(const SpoolRun& run, Role role) {
  const std::string kept = "not delivered, kept in " + run.folder() + ": ";
  if (const Status usable = run.usable(); !usable) {
    if (usable.error().code != Code::denied && usable.error().code != Code::io) return Fate::delivered;
    return log::error("not delivered: " + usable.error().message()), Fate::left;
  }
  if (!run.has_files()) return Fate::skipped;  // empty, or somebody else's
  const auto text = run.meta();
  if (!text && text.error().code == Code::not_available) {
    // Killed before the description was written: there can be no row either.
    if (!run.has_rows() && is_run_name(run.name())) return std::nullopt;
    return log::error(kept + "its meta.json is missing, which says where its rows go; they are in the files there"),
           Fate::left;
  }
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  if (!meta) return log::error(kept + meta.error().message()), Fate::left;
  const DeliveryKind* kind = kind_of(*meta);
  if (kind == nullptr) return log::error(kept + why_unknown(*meta)), Fate::left;
  if (const std::string whose = kind->elsewhere(*meta); !whose.empty())
    return log::warn(run.folder() + " belongs to " + whose), role == Role::named ? Fate::left : Fate::skipped;
  return std::nullopt;
}

// `patience_ns` is shorter for those that come after one whose time ran out.
Fate deliver_one(const std::string& folder, Role role, Delivering& shared, int64_t& patience_ns) {
  SpoolRun run(folder);
  if (const auto fate = look_at(run, role)) return *fate;
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
  delivery->finish(deadline_ns);
  for (;;) {
    Step step = delivery->step();
    const int64_t now_ns = system_clock().monotonic_ns();
    if (step.wake_ns <= now_ns) worked_ns = now_ns;  // what failed waits
    if (step.kind == Step::Kind::wait && now_ns - worked_ns > kOutage_ns)
      step.kind = Step::Kind::left, patience_ns = kShortPatience_ns;
    if (step.kind != Step::Kind::wait && shared.told) shared.told(*delivery, step.kind == Step::Kind::done);
    if (step.kind == Step::Kind::done) return patience_ns = kRecoveryPatience_ns, Fate::delivered;
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
    flags.push_back({"all", Flag::Kind::bare});
    flags.push_back({"json", Flag::Kind::bare});
    flags.push_back({"follow", Flag::Kind::bare});
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
      return Error{Code::invalid, "unknown option " + word + "; did you mean --all?", "",
                   "see tacho deliver --help; a name that begins with a dash goes behind --"};
    if (const char* const variable = known.variable_of(reader->flag)) ::setenv(variable, reader->value.c_str(), 1);
    if (reader->flag->name == "all") request.all = true;
    if (reader->flag->name == "json") request.json = true;
    if (reader->flag->name == "follow") request.follow = true;
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
  const auto folders = request->all ? Result<std::vector<std::string>>(all_spooled()) : resolve(request->names);
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
  int64_t patience_ns = kRecoveryPatience_ns;
  int delivered = 0, left = 0;
  for (const std::string& folder : *folders) {
    const Fate fate = deliver_one(folder, request->all ? Role::command : Role::named, shared, patience_ns);
    delivered += fate == Fate::delivered;
    left += fate == Fate::left;
  }
  std::printf(request->json ? "{\"delivered\": %d, \"left\": %d}\n" : "%d delivered, %d left\n", delivered, left);
  return left > 0 ? 1 : 0;
}

}  // namespace tacho
