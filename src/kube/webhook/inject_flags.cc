#include "kube/webhook/inject_flags.h"

#include "base/flags.h"
#include "base/text.h"
#include "base/units.h"
#include "kube/api/listen_address.h"

namespace tacho {
namespace {

using Setting = SettingFlag<InjectFlags>;

auto text(std::string InjectFlags::*member) {
  return [member](InjectFlags& flags, const std::string& value) { return flags.*member = value, !value.empty(); };
}
auto listen_at(std::string InjectFlags::*member, bool may_be_off) {
  return [member, may_be_off](InjectFlags& flags, const std::string& value) {
    const Result<ListenAddress> where = parse_listen(value);
    return flags.*member = value, !value.empty() && where && (where->on || may_be_off);
  };
}
auto list(std::vector<std::string> InjectFlags::*member) {
  return [member](InjectFlags& flags, const std::string& value) {
    return (flags.*member).push_back(value), !value.empty();
  };
}
auto yes_no(bool InjectFlags::*member) {
  return [member](InjectFlags& flags, const std::string& value) {
    const std::optional<bool> on = parse_bool(value);
    if (on) flags.*member = *on;
    return on && !value.empty();
  };
}
auto milliseconds(int64_t InjectFlags::*member, bool zero) {
  return [member, zero](InjectFlags& flags, const std::string& value) {
    if (zero && (value == "0" || value == "0s")) return flags.*member = 0, true;
    const Result<int64_t> ns = parse_duration_ns(value);
    if (ns) flags.*member = *ns / kNsPerMs;
    return ns && *ns >= kNsPerMs;
  };
}
auto count(int InjectFlags::*member, int limit) {
  return [member, limit](InjectFlags& flags, const std::string& value) {
    const std::optional<int> number = parse_int<int>(value);
    flags.*member = number.value_or(0);
    return number && *number >= 1 && *number <= limit;
  };
}

const std::vector<Setting>& table() {
  static const std::vector<Setting> kFlags = {
      {"listen", "[ADDR]:PORT", "the webhook itself, HTTPS (:8443)", listen_at(&InjectFlags::listen, false)},
      {"health-address", "[ADDR]:PORT", "/healthz and /readyz (:18080; 0 is off)",
       listen_at(&InjectFlags::health_address, true)},
      {"metrics-address", "[ADDR]:PORT", "/metrics (:8080; 0 is off)", listen_at(&InjectFlags::metrics_address, true)},
      {"cert-file", "FILE", "certificate in PEM, read again when it changes", text(&InjectFlags::cert_file)},
      {"key-file", "FILE", "its key", text(&InjectFlags::key_file)},
      {"client-ca", "FILE", "demand a client certificate of this CA", text(&InjectFlags::client_ca)},
      {"own-certificates", nullptr, "make and renew CA and certificate, in a Secret (default without --cert-file)",
       yes_no(&InjectFlags::own_certificates)},
      {"service", "NAME", "the webhook's Service, for the certificate's names (katib-controller)",
       text(&InjectFlags::service)},
      {"secret", "NAME", "where the certificates are kept (tacho-webhook-cert)", text(&InjectFlags::secret)},
      {"extra-name", "NAME", "a further DNS or IP name of the certificate; may be repeated",
       list(&InjectFlags::extra_names)},
      {"webhook-configuration", "NAME",
       "gets the caBundle, mutating and validating; may be repeated (tacho.katib.kubeflow.org)",
       list(&InjectFlags::configurations)},
      {"cert-dir", "DIR", "where the certificate in use is written (/tmp/cert)", text(&InjectFlags::cert_dir)},
      {"kubeconfig", "FILE", "outside a cluster (KUBECONFIG)", text(&InjectFlags::kubeconfig)},
      {"namespace", "NAME", "Katib's namespace (KATIB_CORE_NAMESPACE, kubeflow)", text(&InjectFlags::core_namespace)},
      {"image", "IMAGE", "collector for kinds that katib-config does not name", text(&InjectFlags::image)},
      {"image-lookups", nullptr, "ask registries for the commands of images, off the admission path (true)",
       yes_no(&InjectFlags::image_lookups)},
      {"image-cache", "DIR", "keep what registries said over a restart", text(&InjectFlags::image_cache)},
      {"plain-registry", "HOST:PORT", "a registry without TLS; may be repeated", list(&InjectFlags::plain_registries)},
      {"deadline", "D", "every review is answered within this time (2s)",
       milliseconds(&InjectFlags::deadline_ms, false)},
      {"stop-delay", "D", "not ready, but still serving, before the end (5s)",
       milliseconds(&InjectFlags::stop_delay_ms, true)},
      {"threads", "N", "for connections (2)", count(&InjectFlags::threads, 64)},
      {"workers", "N", "reviews that may wait for the API server at a time (32)", count(&InjectFlags::workers, 1024)},
      {"verbose", nullptr, "tell more", yes_no(&InjectFlags::verbose), 'v'},
  };
  return kFlags;
}

Error refuse(const std::string& what, const std::string& word) {
  return {Code::invalid, what, word, "see tacho-katib inject --help"};
}

}  // namespace

Result<InjectFlags> parse_inject_flags(std::span<const std::string> words) {
  InjectFlags out;
  const std::vector<Flag> known = flags_of<InjectFlags>(table());
  FlagRules rules;
  rules.one_dash = true;
  for (FlagReader reader(words, known, rules); reader.next();) {
    const std::string word(reader->word);
    if (reader->kind == FlagWord::Kind::word) return refuse("no such argument", word);
    if (reader->kind == FlagWord::Kind::no_value) return refuse("the option needs a value", word);
    if (word == "-h" || word == "-help" || word == "--help") return out.help = true, out;
    if (reader->kind != FlagWord::Kind::flag) return refuse("no such option", word);
    const Setting& setting = table()[static_cast<size_t>(reader->flag - known.data())];
    if (!setting.set(out, reader->value))
      return refuse("the value is not usable", "--" + std::string(setting.name) + "=" + reader->value);
  }
  if (out.cert_file.empty() != out.key_file.empty())
    return refuse("certificate and key belong together", "--cert-file, --key-file");
  if (out.cert_file.empty()) out.own_certificates = true;
  else if (out.own_certificates) return refuse("either files or own certificates", "--cert-file, --own-certificates");
  if (out.configurations.empty()) out.configurations.push_back("tacho.katib.kubeflow.org");
  return out;
}

std::string inject_help() {
  const std::string out =
      "Examples:\n"
      "  tacho-katib inject                                            in a cluster, with certificates of its own\n"
      "  tacho-katib inject --cert-file tls.crt --key-file tls.key     with files, for example from cert-manager\n\n"
      "Puts the metrics collector into the pods of Katib's Trials: a mutating admission webhook. Options:\n";
  return out + flags_help(flags_of<InjectFlags>(table()), 36, 1);
}

}  // namespace tacho
