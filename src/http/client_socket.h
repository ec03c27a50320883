// The connection under the HTTP client: TCP, with TLS on top where asked for; never blocks beyond a deadline
// (CLOCK_MONOTONIC). Move-only; one thread at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

struct ClientAddress {
  bool tls = false;
  std::string host;
  uint16_t port = 0;
  std::string ca_file;  // empty: the certificate is not verified
};

class ClientSocket {
 public:
  // Error code gone: nobody listens there (connection refused).
  static Result<ClientSocket> open(const ClientAddress& address, int64_t deadline_ns);
  ClientSocket(ClientSocket&&) noexcept;
  ClientSocket& operator=(ClientSocket&&) noexcept;
  ~ClientSocket();

  Status write(std::string_view text, int64_t deadline_ns);
  // How many bytes came; 0 at the end.
  Result<size_t> read(std::span<char> buffer, int64_t deadline_ns);

 private:
  struct Tls;
  ClientSocket(Fd fd, std::unique_ptr<Tls> tls);
  Status wait(short events, int64_t deadline_ns) const;
  Status wait_for_tls(int result, std::string_view what, int64_t deadline_ns);
  Status start_tls(const ClientAddress& address, int64_t deadline_ns);

  Fd fd_;
  std::unique_ptr<Tls> tls_;
};

// The path that a Location leads to, if it stays on the same scheme, host and port. `from` is the requested path.
std::optional<std::string> redirect_path(std::string_view location, std::string_view from,
                                         const ClientAddress& address);

}  // namespace tacho
