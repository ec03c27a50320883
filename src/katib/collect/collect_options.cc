#include "katib/collect/collect_options.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "katib/read/readers.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr std::string_view kSource = "What to read", kWhere = "Where to report", kProcess = "The trainer's processes",
                           kScrape = "Scraping (PrometheusMetric)", kHow = "How to report", kSecure = "Security";

constexpr auto kFlags = std::to_array<CollectFlag>({
    {"t", "trial_name", false, kWhere, "NAME", "name of the Trial"},
    {"s-db", "db_manager_server_addr", false, kWhere, "HOST:PORT", "the DB manager"},
    {"s-earlystop", "", false, kWhere, "HOST:PORT", "the early-stopping service"},
    {"m", "metric_names", false, kSource, "NAMES",
     "metric names joined by ';', the objective first; repeated: one name each"},
    {"o-type", "objective_type", false, kSource, "TYPE", "minimize or maximize"},
    {"path", "metrics_file_dir", false, kSource, "PATH", "log file, or folder of event files"},
    {"format", "", false, kSource, "TEXT|JSON", "format of the log"},
    {"f", "metric_filters", false, kSource, "REGEXES", "filters joined by ';'; repeated: one filter each"},
    {"kind", "", false, kSource, "KIND",
     "StdOut, File, TensorFlowEvent, PrometheusMetric, Custom or Push; else told by -format and -path"},
    {"profile", "", false, kSource, "drop-in|tacho",
     "rows as the older collectors make them (drop-in), or tacho's rules"},
    {"no-timestamp", "", false, kSource, "zero|arrival", "time of rows that have none; by default as the profile says"},
    {"json-time", "", false, kSource, "digits|exact",
     "how a numeric timestamp is read; by default as the profile says"},
    {"nonfinite", "", false, kSource, "drop|report|unavailable", "what becomes of NaN and infinities (drop)"},
    {"bad-line", "", false, kSource, "skip|fail", "what becomes of a line that is no JSON object (skip)"},
    {"step-metric", "", false, kSource, "NAME", "metric that carries the step"},
    {"echo", "", true, kSource, "BOOL", "print every training line (true for StdOut and File)"},
    {"p", "poll_interval", false, kProcess, "DURATION",
     "how often processes are looked for, and files without inotify (1s)"},
    {"timeout", "timeout", false, kProcess, "DURATION", "give up waiting for processes; 0: never (0)"},
    {"w", "wait_all_processes", false, kProcess, "BOOL", "wait for every container, not only the trainer's (true)"},
    {"ignore-process", "", false, kProcess, "NAMES",
     "programs never waited for (istio-proxy,envoy,pilot-agent,linkerd2-proxy)"},
    {"no-marker", "", true, kProcess, "BOOL", "the trainer is not wrapped: its end is success (false)"},
    {"stop-rule", "", false, kProcess, "RULE", "name;value;comparison;startStep, may be repeated"},
    {"grace", "", false, kProcess, "DURATION", "from SIGTERM to SIGKILL at an early stop (30s)"},
    {"active-when", "", false, kProcess, "ENV=VALUE", "collect only where the variable has this value, else only wait"},
    {"report", "", false, kHow, "DURATION|end", "how often rows are reported while training runs (10s)"},
    {"report-steps", "", true, kHow, "BOOL", "also report NAME@step and NAME@epoch (false)"},
    {"state", "", false, kHow, "FILE",
     "progress, to go on after a restart; empty: none (.tacho-state beside the source)"},
    {"attempts", "", false, kHow, "keep|replace", "rows of an earlier attempt stay, or are deleted (keep)"},
    {"rpc-timeout", "", false, kHow, "DURATION", "time limit of one call (60s)"},
    {"report-deadline", "", false, kHow, "DURATION", "time limit of all retries once training has ended (6h)"},
    {"resources", "", true, kHow, "BOOL", "also report what the trainer's processes use (false)"},
    {"resource-interval", "", false, kHow, "DURATION", "one row of each resource in this time (10s)"},
    {"http-path", "", false, kScrape, "PATH", "path of the endpoint (/metrics)"},
    {"http-port", "", false, kScrape, "PORT", "its port (8080)"},
    {"http-scheme", "", false, kScrape, "HTTP|HTTPS", "its scheme (HTTP)"},
    {"http-host", "", false, kScrape, "HOST", "its host (127.0.0.1)"},
    {"http-header", "", false, kScrape, "NAME: VALUE", "sent with every scrape; may be repeated"},
    {"http-ca", "", false, kScrape, "FILE", "verify the endpoint's certificate by this CA"},
    {"scrape-interval", "", false, kScrape, "DURATION", "between two scrapes (1s)"},
    {"scrape-timeout", "", false, kScrape, "DURATION", "time limit of one scrape (3s)"},
    {"tls", "", true, kSecure, "BOOL", "TLS for both services (false)"},
    {"tls-ca", "", false, kSecure, "FILE", "CA of the servers' certificates"},
    {"tls-cert", "", false, kSecure, "FILE", "client certificate"},
    {"tls-key", "", false, kSecure, "FILE", "its key"},
    {"tls-server-name", "", false, kSecure, "NAME", "name in the servers' certificate"},
    {"auth-token-file", "", false, kSecure, "FILE", "bearer token, read again when it changes"},
    {"config", "", false, kHow, "FILE", "values for these flags, in TOML; flags win (TACHO_KATIB_CONFIG)"},
    {"ready", "", true, kProcess, "BOOL", "only tell by the exit code whether the launcher is in place"},
});

std::vector<GoFlag> go_flags() {
  std::vector<GoFlag> out;
  for (const CollectFlag& flag : kFlags) {
    out.push_back({flag.name, flag.is_switch});
    if (!flag.alias.empty() && flag.alias != flag.name) out.push_back({flag.alias, flag.is_switch});
  }
  return out;
}

std::string_view primary_name(std::string_view name) {
  for (const CollectFlag& flag : kFlags)
    if (flag.alias == name) return flag.name;
  return name;
}

struct Choice {
  std::string_view word;
  int value;
};
using Source = CollectorKind::Source;

// Takes the values over, the last one winning, and remembers the first fault.
class Taker {
 public:
  explicit Taker(const std::vector<GivenFlag>& given) {
    for (const GivenFlag& flag : given) values_[flag.name].push_back(flag.value);
  }

  bool has(std::string_view name) const { return values_.contains(name); }
  const std::vector<std::string>& all(std::string_view name) const {
    static const std::vector<std::string> none;
    const auto found = values_.find(name);
    return found == values_.end() ? none : found->second;
  }
  void text(std::string_view name, std::string& out) const {
    if (has(name)) out = all(name).back();
  }
  void flag(std::string_view name, bool& out) const {
    if (has(name)) out = parse_go_bool(all(name).back());
  }
  void flag(std::string_view name, std::optional<bool>& out) const {
    if (has(name)) out = parse_go_bool(all(name).back());
  }
  void duration(std::string_view name, int64_t& out, bool zero_allowed, bool negative_allowed = false,
                std::string_view also = "") {
    if (!has(name)) return;
    const auto ns = parse_go_duration_ns(all(name).back());
    if (!ns || (*ns < 0 && !negative_allowed) || (*ns == 0 && !zero_allowed))
      return fail(name, std::string("is no duration") + std::string(zero_allowed ? "" : " above 0"),
                  "write 300ms, 1.5h or 2m30s" + std::string(also));
    out = *ns;
  }
  // Any case; one of `choices`.
  template <size_t N>
  int word(std::string_view name, const std::array<Choice, N>& choices, int otherwise) {
    if (!has(name)) return otherwise;
    const std::string given = lower(all(name).back());
    std::string list;
    for (const Choice& choice : choices) {
      if (choice.word == given) return choice.value;
      if (!list.empty()) list += ", ";
      list += choice.word;
    }
    fail(name, "is not known", "it is one of " + list);
    return otherwise;
  }
  void fail(std::string_view name, const std::string& what, const std::string& hint) {
    if (fault.code == Code::invalid) return;
    fault = Error{Code::invalid,
                  std::string("-") + std::string(name) + ": \"" + (has(name) ? all(name).back() : "") + "\" " + what,
                  "", hint};
  }

  Error fault;  // code invalid: something was wrong

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

void take_names(const Taker& taker, std::string_view name, bool respect_quotes, std::vector<std::string>& out) {
  const auto& given = taker.all(name);
  if (given.size() == 1 && !given[0].empty()) out = split_items(given[0], respect_quotes);
  if (given.size() > 1) out = given;
  std::erase(out, "");
}

void take_kind(Taker& taker, CalledAs called_as, CollectOptions& out) {
  Source told = Source::endpoint;
  if (called_as == CalledAs::file_collector || taker.has("format")) told = Source::log;
  else if (called_as == CalledAs::tf_event_collector || taker.has("path")) told = Source::event_files;
  out.kind = &collector_kind_of(told);
  if (!taker.has("kind")) return;
  const CollectorKind* named = find_collector_kind(taker.all("kind").back());
  if (named == nullptr) return taker.fail("kind", "is not known", "it is one of " + collector_kind_names());
  if (named->source != Source::container) out.kind = named;  // Custom: tacho's image as the user's container
}

void take_source(Taker& taker, CalledAs called_as, CollectOptions& out) {
  take_kind(taker, called_as, out);
  out.path = out.kind->flag_path;
  if (out.is_log()) out.format = out.kind->format;
  taker.text("path", out.path);
  take_names(taker, "m", out.reads(Source::endpoint), out.metrics);
  take_names(taker, "f", false, out.filters);
  if (out.is_log() && (taker.has("format") || called_as == CalledAs::file_collector)) {
    out.format = taker.has("format") ? taker.all("format").back() : "";
    if (!is_log_format(out.format)) taker.fail("format", "is no format", "it is " + log_format_names());
  }
  static constexpr std::array<Choice, 3> kTypes{{{"", 0}, {"minimize", 1}, {"maximize", 2}}};
  out.objective_type = static_cast<ObjectiveType>(taker.word("o-type", kTypes, 0));
  static constexpr std::array<Choice, 2> kProfiles{{{"drop-in", 0}, {"tacho", 1}}};
  out.profile = static_cast<Profile>(taker.word("profile", kProfiles, 0));
  static constexpr std::array<Choice, 2> kTimes{{{"zero", 0}, {"arrival", 1}}};
  if (taker.has("no-timestamp")) out.arrival_time = taker.word("no-timestamp", kTimes, 0) == 1;
  static constexpr std::array<Choice, 2> kJsonTimes{{{"digits", 0}, {"exact", 1}}};
  if (taker.has("json-time")) out.exact_json_time = taker.word("json-time", kJsonTimes, 0) == 1;
  static constexpr std::array<Choice, 3> kNonfinite{{{"drop", 0}, {"report", 1}, {"unavailable", 2}}};
  out.non_finite = static_cast<NonFinite>(taker.word("nonfinite", kNonfinite, 0));
  static constexpr std::array<Choice, 2> kBadLines{{{"skip", 0}, {"fail", 1}}};
  out.fail_on_bad_line = taker.word("bad-line", kBadLines, 0) == 1;
  taker.text("step-metric", out.step_metric);
  taker.flag("echo", out.echo);
}

void take_processes(Taker& taker, CollectOptions& out) {
  // The file collector takes 0 and less, and looks without pause; here that is as often as makes sense.
  taker.duration("p", out.poll_ns, !out.reads(Source::event_files), !out.reads(Source::event_files));
  out.poll_ns = std::max<int64_t>(out.poll_ns, 10'000'000);
  taker.duration("timeout", out.timeout_ns, true);
  taker.flag("w", out.wait_all);
  taker.flag("no-marker", out.no_marker);
  taker.duration("grace", out.grace_ns, true);
  out.stop_rules = taker.all("stop-rule");
  taker.text("active-when", out.active_when);
  if (!out.active_when.empty() && out.active_when.find('=') == std::string::npos)
    taker.fail("active-when", "has no =", "write ENV=value");
  if (taker.has("ignore-process")) {
    out.ignored_processes.clear();
    for (const std::string& list : taker.all("ignore-process"))
      for (const std::string_view name : split(list, ','))
        if (!trim(name).empty()) out.ignored_processes.emplace_back(trim(name));
  }
}

void take_reporting(Taker& taker, CollectOptions& out) {
  taker.text("t", out.trial);
  taker.text("s-db", out.db_address);
  taker.text("s-earlystop", out.early_stop_address);
  if (taker.has("report") && taker.all("report").back() == "end") out.report_ns = 0;
  else taker.duration("report", out.report_ns, false, false, ", or \"end\"");
  if (taker.has("state")) out.state = taker.all("state").back();
  static constexpr std::array<Choice, 2> kAttempts{{{"keep", 0}, {"replace", 1}}};
  out.replace_attempts = taker.word("attempts", kAttempts, 0) == 1;
  taker.duration("rpc-timeout", out.rpc_timeout_ns, false);
  taker.duration("report-deadline", out.report_deadline_ns, true);
  taker.flag("report-steps", out.report_steps);
  taker.flag("resources", out.resources);
  taker.duration("resource-interval", out.resource_interval_ns, false);
  taker.flag("tls", out.tls);
  taker.text("tls-ca", out.tls_ca);
  taker.text("tls-cert", out.tls_cert);
  taker.text("tls-key", out.tls_key);
  taker.text("tls-server-name", out.tls_server_name);
  taker.text("auth-token-file", out.token_file);
}

void take_scrape(Taker& taker, CollectOptions& out) {
  taker.text("http-path", out.http_path);
  if (out.http_path.empty()) out.http_path = "/metrics";
  if (!out.http_path.starts_with('/')) out.http_path.insert(0, "/");
  taker.text("http-host", out.http_host);
  if (out.http_host.empty()) out.http_host = "127.0.0.1";
  taker.text("http-ca", out.http_ca);
  static constexpr std::array<Choice, 2> kSchemes{{{"http", 0}, {"https", 1}}};
  out.http_scheme = taker.word("http-scheme", kSchemes, 0) == 1 ? "https" : "http";
  if (taker.has("http-port")) {
    const auto port = parse_int<uint16_t>(taker.all("http-port").back());
    if (!port || *port == 0) taker.fail("http-port", "is no port", "it is a number from 1 to 65535");
    else out.http_port = *port;
  }
  out.http_headers = taker.all("http-header");
  for (const std::string& header : out.http_headers) {
    const size_t colon = header.find_first_of(":=");
    if (colon == std::string::npos || colon == 0 || header.find_first_of("\r\n") != std::string::npos)
      taker.fail("http-header", "is no header", "write \"Name: value\"");
  }
  taker.duration("scrape-interval", out.scrape_interval_ns, false);
  taker.duration("scrape-timeout", out.scrape_timeout_ns, false);
}

// "…-worker-12": 12. Nothing for any other host name: a node's name may end in a number, too.
std::string replica_of_host(std::string_view host) {
  constexpr std::string_view kWord = "-worker-";
  const size_t at = host.rfind(kWord);
  if (at == std::string_view::npos) return "";
  const std::string_view number = host.substr(at + kWord.size());
  return parse_int<uint32_t>(number) && number[0] != '+' ? std::string(number) : "";
}

// ENV=value, as --active-when has it; true without a condition. Where the replica's number is not set, the pod's host
// name has it.
bool is_active(const std::string& condition, const CollectEnvironment& environment) {
  if (condition.empty()) return true;
  const size_t equals = condition.find('=');
  const std::string name = condition.substr(0, equals);
  std::string value = environment(name);
  if (value.empty() && name == "TACHO_REPLICA_INDEX") value = replica_of_host(environment("HOSTNAME"));
  return value == condition.substr(equals + 1);
}

// gRPC would take 443 for a port that is missing, and wait there for ever.
bool has_port(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return address.empty();
  const auto port = parse_int<uint16_t>(address.substr(colon + 1));
  return port && *port > 0;
}

// Exactly what can never work.
Status check(const CollectOptions& out) {
  const auto missing = [](std::string what, std::string hint) {
    return Error{Code::invalid, std::move(what), "", std::move(hint)};
  };
  if (out.reads(Source::trainer)) return ok();
  if (out.metrics.empty()) return missing("-m names no metric", "give the objective first: -m accuracy;loss");
  if (out.passive) return ok();  // it reports nothing, so it may know less
  if (out.trial.empty()) return missing("-t names no Trial", "give the Trial's name: -t NAME");
  if (out.db_address.empty())
    return missing("-s-db names no DB manager", "give its address: -s-db katib-db-manager.kubeflow:6789");
  for (const auto& [flag, address] :
       {std::pair{"-s-db", &out.db_address}, std::pair{"-s-earlystop", &out.early_stop_address}})
    if (!has_port(*address))
      return missing(std::string(flag) + ": \"" + *address + "\" has no port", "write HOST:PORT");
  if (out.is_log() && out.path.empty())
    return missing("-path names no log", "give the file: -path /var/log/katib/metrics.log");
  if (out.reads(Source::event_files) && out.path.empty())
    return missing("-path names no folder", "give the folder of the event files");
  return ok();
}

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

std::span<const CollectFlag> collect_flags() { return kFlags; }

std::string CollectOptions::folder() const {
  if (path.empty()) return "";
  if (kind->path_is_folder) return std::string(without_trailing_slashes(path));
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return std::string(without_trailing_slashes(path.substr(0, std::max<size_t>(slash, 1))));
}

Result<CollectOptions> parse_collect_options(std::span<const std::string> arguments, CalledAs called_as,
                                             const CollectEnvironment& environment) {
  const std::vector<GoFlag> known = go_flags();
  auto flags = parse_go_flags(arguments, known);
  if (!flags) return flags.error();
  CollectOptions out;
  if (flags->help) return out.help = true, out;
  for (GivenFlag& flag : flags->flags) flag.name = primary_name(flag.name);
  std::string config = environment("TACHO_KATIB_CONFIG");
  for (const GivenFlag& flag : flags->flags) {
    if (flag.name == "config") config = flag.value;
    if (flag.name == "ready") out.ready = parse_go_bool(flag.value);
  }
  if (out.ready) return out;
  if (!config.empty()) {
    const auto text = read_whole_file(config, 1u << 20);
    if (!text) return Error{Code::invalid, "cannot read the configuration", config, text.error().what};
    auto given = read_collect_config(*text, config);
    if (!given) return given.error();
    // A flag replaces all values of its key.
    std::erase_if(*given, [&](const GivenFlag& value) {
      return std::any_of(flags->flags.begin(), flags->flags.end(),
                         [&](const GivenFlag& flag) { return flag.name == value.name; });
    });
    flags->flags.insert(flags->flags.begin(), given->begin(), given->end());
  }
  Taker taker(flags->flags);
  take_source(taker, called_as, out);
  take_processes(taker, out);
  take_reporting(taker, out);
  take_scrape(taker, out);
  if (taker.fault.code == Code::invalid) return taker.fault;
  out.passive = !is_active(out.active_when, environment);
  if (const Status status = check(out); !status) return status.error();
  return out;
}

}  // namespace tacho
