#include "katib/rpc/tls_files.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tacho {
namespace {

std::string pem(const std::string& label, const std::string& body) {
  return "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n";
}
// Not a real one, but as far as anybody looks.
std::string certificate() {
  return pem("CERTIFICATE", "MIIB" + std::string(60, 'A') + "\r\n" + std::string(62, 'B') + "==");
}

TEST(TlsFiles, WhatHoldsACertificate) {
  EXPECT_TRUE(holds_certificate(certificate()));
  EXPECT_TRUE(holds_certificate("# the CA of the cluster\n" + pem("PRIVATE KEY", "MIIB") + pem("CERTIFICATE", "junk") +
                                certificate()));
  for (const std::string& text :
       {std::string(), std::string("junk"), pem("PRIVATE KEY", "MIIB" + std::string(100, 'A')), pem("CERTIFICATE", ""),
        pem("CERTIFICATE", std::string(100, '!')), pem("CERTIFICATE", std::string(104, 'A')),
        certificate().substr(0, 80)})
    EXPECT_FALSE(holds_certificate(text)) << text;
}

TEST(TlsFiles, NamesTheFileAndTheOption) {
  const TempDir folder;
  std::ofstream(folder / "ca") << certificate();
  std::ofstream(folder / "empty");
  std::ofstream(folder / "key") << pem("EC PRIVATE KEY", "MHcC");
  const auto checked = [&](const char* ca, const char* cert, const char* key) {
    RpcOptions options;
    options.tls = true;
    const auto path = [&](const char* name) { return *name == 0 ? std::string() : folder.path() + "/" + name; };
    options.ca_file = path(ca);
    options.cert_file = path(cert);
    options.key_file = path(key);
    const Status status = check_rpc_files(options);
    return status ? "" : status.error().message();
  };
  EXPECT_EQ(checked("", "", ""), "");
  EXPECT_EQ(checked("ca", "ca", "key"), "");
  const auto says = [](const std::string& message, const char* file, const char* option) {
    return message.find(file) != std::string::npos && message.find(option) != std::string::npos;
  };
  EXPECT_TRUE(says(checked("none", "", ""), "/none", "--tls-ca"));
  EXPECT_TRUE(says(checked("empty", "", ""), "/empty", "--tls-ca"));
  EXPECT_TRUE(says(checked("ca", "key", "key"), "/key", "--tls-cert"));
  EXPECT_TRUE(says(checked("ca", "ca", "ca"), "/ca", "--tls-key"));
  EXPECT_TRUE(says(checked("ca", "ca", ""), "", "--tls-key"));
  RpcOptions options;
  for (const char* token : {"empty", "none"}) {
    options.token_file = folder / token;
    const Status status = check_rpc_files(options);
    ASSERT_FALSE(status);
    EXPECT_TRUE(says(status.error().message(), token, "--auth-token-file"));
  }
  options.token_file = folder / "key";
  EXPECT_TRUE(check_rpc_files(options));
}

}  // namespace
}  // namespace tacho
