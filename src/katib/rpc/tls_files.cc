#include "katib/rpc/tls_files.h"

#include "base/text.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kMostBytes = 1u << 20;

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// An X.509 certificate is a DER SEQUENCE with a length of two bytes or more: 30 82 … or 30 81 …
bool is_der(std::string_view base64) {
  size_t digits = 0, padding = 0;
  unsigned first = 0;
  for (const char c : base64) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    const int value = base64_value(c);
    if (c == '=') ++padding;
    else if (value < 0 || padding > 0) return false;
    else if (++digits <= 4) first = first << 6 | static_cast<unsigned>(value);
  }
  return digits >= 100 && (digits + padding) % 4 == 0 && first >> 16 == 0x30 && (first >> 8 & 0xff) >= 0x81;
}

Error at_fault(std::string what, const std::string& path, const char* option) {
  return {Code::invalid, std::move(what), path, std::string("check ") + option};
}

}  // namespace

bool holds_certificate(std::string_view pem) {
  for (const std::string_view label : {"CERTIFICATE-----", "TRUSTED CERTIFICATE-----", "X509 CERTIFICATE-----"}) {
    const std::string begin = std::string("-----BEGIN ").append(label), end = std::string("-----END ").append(label);
    for (size_t at = pem.find(begin); at != std::string_view::npos; at = pem.find(begin, at + 1)) {
      const size_t body = at + begin.size(), behind = pem.find(end, body);
      if (behind != std::string_view::npos && is_der(pem.substr(body, behind - body))) return true;
    }
  }
  return false;
}

Status check_certificates(const std::string& path, const char* option) {
  const auto text = read_whole_file(path, kMostBytes);
  if (!text) return at_fault(text.error().what, path, option);
  return holds_certificate(*text) ? ok() : Status(at_fault("there is no certificate in PEM form in it", path, option));
}

Status check_rpc_files(const RpcOptions& options) {
  if (!options.token_file.empty()) {
    const auto token = read_whole_file(options.token_file, kMostBytes);
    if (!token) return at_fault(token.error().what, options.token_file, "--auth-token-file");
    if (trim(*token).empty()) return at_fault("the token file is empty", options.token_file, "--auth-token-file");
  }
  if (!options.ca_file.empty())
    if (Status status = check_certificates(options.ca_file, "--tls-ca"); !status) return status;
  if (options.cert_file.empty() != options.key_file.empty())
    return Error{Code::invalid, "a client certificate needs its key", "", "give both --tls-cert and --tls-key"};
  if (options.cert_file.empty()) return ok();
  if (Status status = check_certificates(options.cert_file, "--tls-cert"); !status) return status;
  const auto key = read_whole_file(options.key_file, kMostBytes);
  if (!key) return at_fault(key.error().what, options.key_file, "--tls-key");
  if (key->find("PRIVATE KEY-----") == std::string::npos)
    return at_fault("there is no private key in PEM form in it", options.key_file, "--tls-key");
  return ok();
}

}  // namespace tacho
