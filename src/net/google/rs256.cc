#include "net/google/rs256.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <memory>

namespace tacho {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

using PublicKey = Owned<EVP_PKEY, ::EVP_PKEY_free>;

PublicKey make_key(std::string_view modulus, std::string_view exponent) {
  const Owned<BIGNUM, ::BN_free> n{::BN_bin2bn(bytes(modulus), static_cast<int>(modulus.size()), nullptr)};
  const Owned<BIGNUM, ::BN_free> e{::BN_bin2bn(bytes(exponent), static_cast<int>(exponent.size()), nullptr)};
  const Owned<OSSL_PARAM_BLD, ::OSSL_PARAM_BLD_free> builder{::OSSL_PARAM_BLD_new()};
  if (!n || !e || !builder || ::BN_num_bits(n.get()) < 2048) return nullptr;
  ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  const Owned<OSSL_PARAM, ::OSSL_PARAM_free> parameters{::OSSL_PARAM_BLD_to_param(builder.get())};
  const Owned<EVP_PKEY_CTX, ::EVP_PKEY_CTX_free> context{::EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr)};
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || ::EVP_PKEY_fromdata_init(context.get()) <= 0 ||
      ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) <= 0)
    return nullptr;
  return PublicKey{key};
}

}  // namespace

bool verify_rs256(std::string_view text, std::string_view signature, std::string_view modulus,
                  std::string_view exponent) {
  if (modulus.size() > 2048 || exponent.size() > 16) return false;
  const PublicKey key = make_key(modulus, exponent);
  const Owned<EVP_MD_CTX, ::EVP_MD_CTX_free> digest{::EVP_MD_CTX_new()};
  return key && digest && ::EVP_DigestVerifyInit(digest.get(), nullptr, ::EVP_sha256(), nullptr, key.get()) == 1 &&
         ::EVP_DigestVerify(digest.get(), bytes(signature), signature.size(), bytes(text), text.size()) == 1;
}

}  // namespace tacho
