#include "kube/trials/trials_flags.h"

#include <algorithm>

#include "base/flags.h"
#include "base/text.h"
#include "base/units.h"
#include "kube/api/listen_address.h"
#include "os/environment.h"

namespace tacho {
namespace {

using Setting = SettingFlag<TrialsFlags>;

template <class Member>
auto text(Member member) {
  return [member](TrialsFlags& flags, const std::string& value) { return flags.*member = value, true; };
}
template <class Member>
auto rpc_text(Member member) {
  return [member](TrialsFlags& flags, const std::string& value) { return flags.db.*member = value, true; };
}
template <class Member>
auto duration(Member member, int64_t unit_ns) {
  return [member, unit_ns](TrialsFlags& flags, const std::string& value) {
    const Result<int64_t> ns = parse_duration_ns(value);
    if (!ns || *ns < unit_ns) return false;
    flags.*member = *ns / unit_ns;
    return true;
  };
}
template <class Set>
auto yes_no(Set set) {
  return [set](TrialsFlags& flags, const std::string& value) {
    const std::optional<bool> flag = parse_bool(value);
    if (flag && !value.empty()) set(flags, *flag);
    return flag && !value.empty();
  };
}

const std::vector<Setting>& table() {
  static const std::vector<Setting> flags = {
      {"mode", "check|own",
       "check: compute and compare beside a katib-controller (default); own: be the trial controller",
       [](TrialsFlags& flags, const std::string& value) {
         return flags.mode = value, value == "check" || value == "own";
       }},
      {"db", "HOST:PORT", "the DB manager (katib-db-manager.kubeflow:6789, or KATIB_DB_MANAGER_SERVICE_*)",
       [](TrialsFlags& flags, const std::string& value) {
         const size_t colon = value.rfind(':');
         const std::optional<uint16_t> port =
             colon == std::string::npos ? std::nullopt : parse_int<uint16_t>(std::string_view(value).substr(colon + 1));
         return flags.db.address = value, colon > 0 && port && *port > 0;
       }},
      {"kubeconfig", "FILE", "outside a cluster (KUBECONFIG)", text(&TrialsFlags::kubeconfig)},
      {"namespace", "NAME", "Katib's namespace, where the lease is (KATIB_CORE_NAMESPACE, kubeflow)",
       text(&TrialsFlags::core_namespace)},
      {"watch-namespace", "NAME", "only Trials of this namespace (all)", text(&TrialsFlags::watch_namespace)},
      {"trial-resource", "KIND.VERSION.GROUP",
       "a kind of job to watch from the start, repeatable; others are watched when they are met",
       [](TrialsFlags& flags, const std::string& value) {
         const std::optional<KindName> kind = parse_kind(value);
         if (kind && std::find(flags.kinds.begin(), flags.kinds.end(), *kind) == flags.kinds.end())
           flags.kinds.push_back(*kind);
         return kind.has_value();
       }},
      {"metrics-wait", "D", "how long to wait for rows after a job's end before MetricsUnavailable (10m)",
       duration(&TrialsFlags::metrics_wait_ms, kNsPerMs)},
      {"page-after", "D", "read the rows of trainings longer than this in windows of time (1h)",
       duration(&TrialsFlags::page_after_s, kNsPerSec)},
      {"resync", "D", "look at every Trial again (10h)", duration(&TrialsFlags::resync_s, kNsPerSec)},
      {"watch-timeout", "D", "length of a watch request, ±20 % (5m)",
       duration(&TrialsFlags::watch_timeout_s, kNsPerSec)},
      {"idle-watch", "D",
       "how long a kind that no Trial needs is still watched; those of --trial-resource always are (1m)",
       duration(&TrialsFlags::idle_watch_ms, kNsPerMs)},
      {"workers", "N", "Trials worked on at a time (4)",
       [](TrialsFlags& flags, const std::string& value) {
         const std::optional<int> count = parse_int<int>(value);
         flags.workers = count.value_or(0);
         return count && *count >= 1 && *count <= 64;
       }},
      {"leader-elect", nullptr, "work only while holding the lease (true)",
       yes_no([](TrialsFlags& flags, bool on) { flags.leader_elect = on; })},
      {"lease", "NAME",
       "name of the lease (check: tacho.katib.kubeflow.org; own: Katib's, leaderElectionID of katib-config)",
       text(&TrialsFlags::lease)},
      {"identity", "NAME", "how this replica is called in the lease (POD_NAME or the host's name, and random digits)",
       text(&TrialsFlags::identity)},
      {"health-address", "[ADDR]:PORT", "/healthz and /readyz (:18080; 0 is off)", text(&TrialsFlags::health_address)},
      {"metrics-address", "[ADDR]:PORT", "/metrics (:8080; 0 is off)", text(&TrialsFlags::metrics_address)},
      {"tls", nullptr, "speak TLS to the DB manager", yes_no([](TrialsFlags& flags, bool on) { flags.db.tls = on; })},
      {"tls-ca", "FILE", "its CA", rpc_text(&RpcOptions::ca_file)},
      {"tls-cert", "FILE", "our certificate", rpc_text(&RpcOptions::cert_file)},
      {"tls-key", "FILE", "our key", rpc_text(&RpcOptions::key_file)},
      {"tls-server-name", "NAME", "the name in its certificate", rpc_text(&RpcOptions::server_name)},
      {"auth-token-file", "FILE", "token for the DB manager, read again when it changes",
       rpc_text(&RpcOptions::token_file)},
      {"verbose", nullptr, "more messages", yes_no([](TrialsFlags& flags, bool on) { flags.verbose = on; }), 'v'},
  };
  return flags;
}

Error usage(const std::string& what) { return {Code::invalid, what, "", "tacho-katib trials --help lists them"}; }

// docs/formats/katib.md §1: an empty namespace drops the dot part.
std::string default_db_address(const std::string& core) {
  const std::string ns = environment_raw("KATIB_DB_MANAGER_SERVICE_NAMESPACE").value_or(core);
  return environment_or("KATIB_DB_MANAGER_SERVICE_IP", "katib-db-manager") + (ns.empty() ? "" : "." + ns) + ":" +
         environment_or("KATIB_DB_MANAGER_SERVICE_PORT", "6789");
}

}  // namespace

Result<TrialsFlags> parse_trials_flags(std::span<const std::string> words) {
  TrialsFlags flags;
  flags.core_namespace = environment_or("KATIB_CORE_NAMESPACE", "kubeflow");
  flags.kinds = usual_job_kinds();
  const std::vector<Flag> known = flags_of<TrialsFlags>(table());
  FlagRules rules;
  rules.one_dash = true;
  for (FlagReader reader(words, known, rules); reader.next();) {
    const std::string_view word = reader->word;
    if (reader->kind == FlagWord::Kind::word) return usage("unexpected argument " + std::string(word));
    if (reader->kind == FlagWord::Kind::unknown) {
      flags.help = word == "-h" || word == "--help" || word == "-help";
      if (flags.help) return flags;
      return usage("unknown option --" + reader->name.substr(reader->name.starts_with("--") ? 2 : 1));
    }
    const std::string name = "--" + std::string(reader->flag->name);
    const std::string takes = ": " + std::string(reader->flag->value);
    if (reader->kind == FlagWord::Kind::no_value) return usage(name + " needs a value" + takes);
    if (!table()[static_cast<size_t>(reader->flag - known.data())].set(flags, reader->value))
      return usage(name + " does not take \"" + reader->value + "\"" + (takes == ": " ? "" : takes));
  }
  if (flags.db.cert_file.empty() != flags.db.key_file.empty()) return usage("--tls-cert and --tls-key belong together");
  if (flags.db.address.empty()) flags.db.address = default_db_address(flags.core_namespace);
  flags.lease_given = !flags.lease.empty();
  if (!flags.lease_given)
    flags.lease = flags.mode == "own" ? "3fbc96e9.katib.kubeflow.org" : "tacho.katib.kubeflow.org";
  for (const std::string* address : {&flags.health_address, &flags.metrics_address}) {
    if (const Result<ListenAddress> good = parse_listen(*address); !good) return usage(good.error().message());
  }
  return flags;
}

std::string trials_help() {
  const std::string help =
      "Examples:\n"
      "  tacho-katib trials --mode check                    # beside a katib-controller: compare, write nothing\n"
      "  tacho-katib trials --mode own                      # be the trial controller\n"
      "  tacho-katib trials --mode own --kubeconfig ~/.kube/config --db 127.0.0.1:6789\n\n"
      "Final metrics into the status of Trials. Options:\n";
  return help + flags_help(flags_of<TrialsFlags>(table()), 38, 2);
}

}  // namespace tacho
