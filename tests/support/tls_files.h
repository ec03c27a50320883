// A certificate and its key in two PEM files, made for the names that a test needs: signed by itself, so that it is its
// own CA bundle (SSL_CERT_FILE).
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace tacho {

class TlsFiles {
 public:
  // names: "DNS:*.s3.amazonaws.com,IP:127.0.0.1"
  TlsFiles(const std::string& folder, const std::string& names)
      : certificate(folder + "/cert.pem"), key(folder + "/key.pem") {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair{EVP_EC_gen("P-256"), EVP_PKEY_free};
    const std::unique_ptr<X509, decltype(&X509_free)> x509{X509_new(), X509_free};
    X509_set_version(x509.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
    X509_set_pubkey(x509.get(), pair.get());
    X509_NAME* subject = X509_get_subject_name(x509.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("tacho test"), -1,
                               -1, 0);
    X509_set_issuer_name(x509.get(), subject);
    add(x509.get(), NID_subject_alt_name, names);
    add(x509.get(), NID_basic_constraints, "critical,CA:TRUE");
    if (X509_sign(x509.get(), pair.get(), EVP_sha256()) == 0) std::abort();
    FILE* file = std::fopen(certificate.c_str(), "w");
    PEM_write_X509(file, x509.get());
    std::fclose(file);
    file = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }

  const std::string certificate, key;

 private:
  static void add(X509* x509, int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    if (extension == nullptr) std::abort();
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
  }
};

}  // namespace tacho
