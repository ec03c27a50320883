// The PEM files of a TLS connection and the token's file, checked before anything is sent: a missing or wrong file
// would only show as a service that never answers. Thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "katib/rpc/clients.h"

namespace tacho {

// At least one certificate; the Error names the file and the option.
Status check_certificates(const std::string& path, const char* option);
// All files that the options name, even where TLS is off: a wrong name is wrong.
Status check_rpc_files(const RpcOptions& options);
// -----BEGIN CERTIFICATE----- and base64 of what can be one.
bool holds_certificate(std::string_view pem);

}  // namespace tacho
