#include "kube/webhook/certificate_keeper.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "kube/api/object.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr const char* kAdmission = "admissionregistration.k8s.io/v1";
constexpr int64_t kOverlapSeconds = kDaySeconds;  // every replica has looked twice

Error failed(const std::string& what, const std::string& path, const std::string& why) {
  return {Code::io, what + ": " + why, path, "look at the rights of the service account"};
}

}  // namespace

// The Secret as it is, its values decoded.
struct CertificateKeeper::Stored {
  std::string ca_bundle, ca_key, certificate, key;
  Json object;  // as the API server sent it; what else is in it is kept
  KeyPair ca() const {
    const std::vector<std::string> bundle = split_bundle(ca_bundle);
    return {bundle.empty() ? "" : bundle[0], ca_key};
  }
};

Result<CertificateKeeper::Stored> CertificateKeeper::load() {
  const Lookup found = cluster_.read({"v1", "Secret", options_.ns, options_.secret});
  if (found.state == Lookup::State::absent) return Error{Code::not_available, "no Secret yet", options_.secret, ""};
  if (found.state != Lookup::State::found || !found.json)
    return failed("cannot read the Secret", options_.secret, found.why);
  std::optional<Json> parsed = parse_json(*found.json);
  if (!parsed) return failed("cannot read the Secret", options_.secret, "not JSON");
  Stored out;
  const auto value = [&](const char* key) { return from_base64(text_at(*parsed, {"data", key})); };
  out.ca_bundle = value("ca.crt");
  out.ca_key = value("ca.key");
  out.certificate = value("tls.crt");
  out.key = value("tls.key");
  out.object = std::move(*parsed);
  return out;
}

Result<CertificateKeeper::Stored> CertificateKeeper::store(const Stored& wanted) {
  Json object = wanted.object;
  const bool is_new = object.is_null();
  if (is_new) {
    object["apiVersion"] = "v1";
    object["kind"] = "Secret";
    object["metadata"]["name"] = options_.secret;
    object["metadata"]["namespace"] = options_.ns;
    object["type"] = "Opaque";
  }
  const auto set = [&](const char* key, const std::string& value) { object["data"][key] = to_base64(value); };
  set("ca.crt", wanted.ca_bundle);
  set("ca.key", wanted.ca_key);
  set("tls.crt", wanted.certificate);
  set("tls.key", wanted.key);
  const ObjectKey key{"v1", "Secret", options_.ns, options_.secret};
  const std::string text = dump_json(object);
  const Written written = is_new ? cluster_.create(key, text) : cluster_.replace(key, text);
  if (written.state == Written::State::done || written.state == Written::State::conflict)
    return load();  // another replica was first
  return failed("cannot write the Secret", options_.secret, written.why);
}

Result<CertificateKeeper::Stored> CertificateKeeper::make_first(int64_t now_s) {
  Result<KeyPair> ca = make_ca(now_s);
  if (!ca) return ca.error();
  Result<KeyPair> server = issue_certificate(*ca, options_.names, now_s);
  if (!server) return server.error();
  Stored wanted;
  wanted.ca_bundle = ca->certificate;
  wanted.ca_key = ca->key;
  wanted.certificate = server->certificate;
  wanted.key = server->key;
  return store(wanted);
}

Result<bool> CertificateKeeper::renew_ca(Stored& stored, int64_t now_s) {
  const KeyPair ca = stored.ca();
  const Result<CertificateFacts> facts = read_certificate(ca.certificate);
  // One that begins later is of a clock that ran ahead: nobody would trust it until then.
  if (facts && belongs(ca.certificate, ca.key) && facts->not_after_s - now_s > kServerSeconds &&
      facts->not_before_s <= now_s)
    return false;
  Result<KeyPair> made = make_ca(now_s);
  if (!made) return made.error();
  Stored wanted = stored;
  wanted.ca_bundle = made->certificate;
  // The old one stays as long as a certificate of it is served anywhere.
  for (const std::string& old : split_bundle(stored.ca_bundle)) wanted.ca_bundle += old;
  wanted.ca_key = made->key;
  Result<Stored> done = store(wanted);
  if (!done) return done.error();
  stored = std::move(*done);
  return true;
}

Result<bool> CertificateKeeper::renew_certificate(Stored& stored, int64_t now_s) {
  const KeyPair ca = stored.ca();
  const Result<CertificateFacts> facts = read_certificate(stored.certificate);
  const bool good = facts && facts->not_after_s - now_s > kRenewSeconds && belongs(stored.certificate, stored.key) &&
                    is_trusted(stored.certificate, ca.certificate, now_s) &&
                    std::all_of(options_.names.begin(), options_.names.end(), [&](const std::string& name) {
                      return std::find(facts->names.begin(), facts->names.end(), name) != facts->names.end();
                    });
  if (good) return false;
  Result<KeyPair> made = issue_certificate(ca, options_.names, now_s);
  if (!made) return made.error();
  Stored wanted = stored;
  wanted.certificate = made->certificate;
  wanted.key = made->key;
  Result<Stored> done = store(wanted);
  if (!done) return done.error();
  stored = std::move(*done);
  return true;
}

// Once the certificate in use has been of the first CA for a day, nobody serves one of another.
Result<bool> CertificateKeeper::drop_old_ca(Stored& stored, int64_t now_s) {
  const std::vector<std::string> bundle = split_bundle(stored.ca_bundle);
  const Result<CertificateFacts> facts = read_certificate(stored.certificate);
  if (bundle.size() < 2 || !facts || now_s - facts->not_before_s < kOverlapSeconds ||
      !is_trusted(stored.certificate, bundle[0], now_s))
    return false;
  Stored wanted = stored;
  wanted.ca_bundle = bundle[0];
  Result<Stored> done = store(wanted);
  if (!done) return done.error();
  stored = std::move(*done);
  return true;
}

Status CertificateKeeper::patch_configuration(const std::string& kind, const std::string& name,
                                              const std::string& bundle) {
  const Lookup found = cluster_.read({kAdmission, kind, "", name});
  if (found.state == Lookup::State::absent) return ok();
  if (found.state != Lookup::State::found || !found.json)
    return failed("cannot read the webhook configuration", name, found.why);
  const std::optional<Json> parsed = parse_json(*found.json);
  const Json* hooks = parsed ? find(*parsed, {"webhooks"}) : nullptr;
  if (hooks == nullptr || !hooks->is_array()) return ok();
  found_configurations_++;
  const std::string wanted = to_base64(bundle);
  Json operations = Json::array();
  for (size_t i = 0; i < hooks->size(); i++) {
    const std::string place = "/webhooks/" + std::to_string(i);
    if (text_at((*hooks)[i], {"clientConfig", "caBundle"}) == wanted) continue;
    // The list may have changed meanwhile: the name is checked first.
    operations.push_back({{"op", "test"}, {"path", place + "/name"}, {"value", text_at((*hooks)[i], {"name"})}});
    operations.push_back({{"op", "add"}, {"path", place + "/clientConfig/caBundle"}, {"value", wanted}});
  }
  if (operations.empty()) return ok();
  const Written written = cluster_.patch({kAdmission, kind, "", name}, dump_json(operations));
  if (written.state == Written::State::done) return ok();
  return failed("cannot write the caBundle", name, written.why);
}

Status CertificateKeeper::write_bundle(const std::string& bundle) {
  found_configurations_ = 0;
  for (const std::string& name : options_.configurations) {
    for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
      if (Status written = patch_configuration(kind, name, bundle); !written) return written;
    }
  }
  if (found_configurations_ == 0)
    log::warn(
        "no webhook configuration is installed yet, so nobody calls this webhook; apply the manifests, the caBundle "
        "follows by itself");
  return ok();
}

Result<bool> CertificateKeeper::write_files(const Stored& stored) {
  const std::string certificate = options_.folder + "/tls.crt", key = options_.folder + "/tls.key";
  const Result<std::string> now = read_whole_file(certificate), now_key = read_whole_file(key);
  if (now && now_key && *now == stored.certificate && *now_key == stored.key) return false;
  if (Status made = make_directories(options_.folder); !made) return made.error();
  if (Status written = write_file_atomically(key, stored.key, false, 0600); !written) return written.error();
  if (Status written = write_file_atomically(certificate, stored.certificate, false, 0600); !written)
    return written.error();
  return true;
}

Result<bool> CertificateKeeper::look(int64_t now_s) {
  Result<Stored> loaded = load();
  if (!loaded && loaded.error().code == Code::not_available) loaded = make_first(now_s);
  if (!loaded) return loaded.error();
  Stored stored = std::move(*loaded);
  if (Result<bool> changed = renew_ca(stored, now_s); !changed) return changed.error();
  // Before any certificate of a new CA is used, whoever calls us knows that CA.
  if (Status written = write_bundle(stored.ca_bundle); !written) return written.error();
  if (Result<bool> changed = renew_certificate(stored, now_s); !changed) return changed.error();
  Result<bool> dropped = drop_old_ca(stored, now_s);
  if (!dropped) return dropped.error();
  if (*dropped) {
    if (Status written = write_bundle(stored.ca_bundle); !written) return written.error();
  }
  Result<bool> files = write_files(stored);
  if (!files) return files.error();
  const Result<CertificateFacts> facts = read_certificate(stored.certificate);
  not_after_s_ = facts ? facts->not_after_s : 0;
  trusted_ = is_trusted(stored.certificate, stored.ca_bundle, now_s);
  return files;
}

}  // namespace tacho
