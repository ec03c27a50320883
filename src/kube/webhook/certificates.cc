#include "kube/webhook/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "base/time_text.h"

namespace tacho {
namespace {

template <auto Release>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Release(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Memory = std::unique_ptr<BIO, Freer<BIO_free>>;

constexpr int64_t kSkewSeconds = 3'600;  // clocks of a cluster differ

Error failed(const char* what) {
  ERR_clear_error();
  return {Code::io, what, "", "look whether OpenSSL works on this machine"};
}

Memory reading(std::string_view text) { return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "";
}

Certificate parse(std::string_view pem) {
  const Memory in = reading(pem);
  Certificate out(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return out;
}

Key parse_key(std::string_view pem) {
  const Memory in = reading(pem);
  Key out(PEM_read_bio_PrivateKey(
      in.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr));
  ERR_clear_error();
  return out;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool is_address(const std::string& name) {
  unsigned char buffer[16];
  return ::inet_pton(AF_INET, name.c_str(), buffer) == 1 || ::inet_pton(AF_INET6, name.c_str(), buffer) == 1;
}

// A certificate with subject, times and a random serial number, not signed yet.
Certificate make_blank(EVP_PKEY* key, const std::string& common_name, int64_t now_s, int64_t life_s) {
  Certificate out(X509_new());
  unsigned char serial[16];
  if (!out || RAND_bytes(serial, sizeof serial) != 1) return nullptr;
  serial[0] &= 0x7f;
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(out.get()));
  BN_free(number);
  X509_set_version(out.get(), X509_VERSION_3);
  X509_NAME* name = X509_get_subject_name(out.get());
  const auto add = [&](const char* field, const std::string& value) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  };
  add("O", "katib");
  add("CN", common_name.substr(0, 64));  // X.520 allows no more; the full names are in the extension
  ASN1_TIME_set(X509_getm_notBefore(out.get()), now_s - kSkewSeconds);
  ASN1_TIME_set(X509_getm_notAfter(out.get()), now_s + life_s);
  if (X509_set_pubkey(out.get(), key) != 1) return nullptr;
  return out;
}

Result<KeyPair> write_pair(X509* certificate, EVP_PKEY* key) {
  const Memory first(BIO_new(BIO_s_mem())), second(BIO_new(BIO_s_secmem()));
  if (PEM_write_bio_X509(first.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("cannot write a certificate");
  return KeyPair{text_of(first.get()), text_of(second.get())};
}

int64_t seconds_of(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  const auto days = days_since_1970(parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
  return days.value_or(0) * 86'400 + parts.tm_hour * 3600 + parts.tm_min * 60 + parts.tm_sec;
}

}  // namespace

Result<KeyPair> make_ca(int64_t now_s) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("cannot make a key");
  const Certificate made = make_blank(key.get(), "katib-ca", now_s, kCaSeconds);
  if (!made) return failed("cannot make a CA");
  X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  X509* raw = made.get();
  if (!add_extension(raw, raw, NID_basic_constraints, "critical,CA:TRUE") ||
      !add_extension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature") ||
      !add_extension(raw, raw, NID_subject_key_identifier, "hash") || X509_sign(raw, key.get(), EVP_sha256()) == 0)
    return failed("cannot sign a CA");
  return write_pair(raw, key.get());
}

Result<KeyPair> issue_certificate(const KeyPair& ca, const std::vector<std::string>& names, int64_t now_s) {
  const Certificate issuer = parse(ca.certificate);
  const Key issuer_key = parse_key(ca.key), key(EVP_EC_gen("P-256"));
  if (!issuer || !issuer_key)
    return Error{Code::invalid, "the CA in the Secret cannot be read", "ca.crt, ca.key",
                 "delete the Secret; a new one is made"};
  if (!key) return failed("cannot make a key");
  std::string alternatives, common;
  for (const std::string& name : names) {
    if (name.find_first_of(",\n") != std::string::npos)
      return Error{Code::invalid, "not a name for a certificate", name, "give DNS or IP names"};
    if (!alternatives.empty()) alternatives += ',';
    alternatives += (is_address(name) ? "IP:" : "DNS:") + name;
    if (common.empty() && !is_address(name)) common = name;
  }
  const Certificate made = make_blank(key.get(), common.empty() ? "tacho" : common, now_s, kServerSeconds);
  if (!made) return failed("cannot make a certificate");
  X509* raw = made.get();
  X509_set_issuer_name(raw, X509_get_subject_name(issuer.get()));
  if (!add_extension(raw, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(raw, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(raw, issuer.get(), NID_ext_key_usage, "serverAuth") ||
      !add_extension(raw, issuer.get(), NID_subject_alt_name, alternatives) ||
      !add_extension(raw, issuer.get(), NID_authority_key_identifier, "keyid") ||
      X509_sign(raw, issuer_key.get(), EVP_sha256()) == 0)
    return failed("cannot sign a certificate");
  return write_pair(raw, key.get());
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  const Certificate parsed = parse(pem);
  if (!parsed) return Error{Code::invalid, "not a certificate in PEM form", "", ""};
  CertificateFacts out;
  out.not_before_s = seconds_of(X509_get0_notBefore(parsed.get()));
  out.not_after_s = seconds_of(X509_get0_notAfter(parsed.get()));
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(parsed.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) {
      out.names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                             static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN] = "";
      const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      if (::inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text) != nullptr)
        out.names.emplace_back(text);
    }
  }
  GENERAL_NAMES_free(names);
  return out;
}

bool is_trusted(std::string_view certificate, std::string_view ca_bundle, int64_t now_s) {
  const Certificate parsed = parse(certificate);
  if (!parsed) return false;
  std::unique_ptr<X509_STORE, Freer<X509_STORE_free>> store(X509_STORE_new());
  for (const std::string& one : split_bundle(ca_bundle)) {
    if (const Certificate ca = parse(one)) X509_STORE_add_cert(store.get(), ca.get());
  }
  std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store.get(), parsed.get(), nullptr) != 1) return false;
  X509_STORE_CTX_set_time(context.get(), 0, now_s);
  const bool trusted = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  return trusted;
}

bool belongs(std::string_view certificate, std::string_view key) {
  const Certificate parsed = parse(certificate);
  const Key own = parse_key(key);
  const bool fits = parsed && own && X509_check_private_key(parsed.get(), own.get()) == 1;
  ERR_clear_error();
  return fits;
}

std::vector<std::string> split_bundle(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> out;
  for (size_t at = pem.find(kBegin); at != std::string_view::npos; at = pem.find(kBegin, at + 1)) {
    const size_t end = pem.find(kEnd, at);
    if (end == std::string_view::npos) break;
    std::string one(pem.substr(at, end + kEnd.size() - at));
    one += '\n';
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> service_names(const std::string& service, const std::string& ns,
                                       const std::vector<std::string>& extra) {
  std::vector<std::string> out = {service + "." + ns + ".svc", service, service + "." + ns,
                                  service + "." + ns + ".svc.cluster.local"};
  for (const std::string& name : extra) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

std::string to_base64(std::string_view text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');
  out.resize(static_cast<size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                                 reinterpret_cast<const unsigned char*>(text.data()),
                                                 static_cast<int>(text.size()))));
  return out;
}

std::string from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return "";
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return "";
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

}  // namespace tacho
