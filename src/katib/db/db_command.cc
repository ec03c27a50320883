#include <array>
#include <csignal>
#include <cstdio>

#include "base/bytes.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "katib/collect/go_flags.h"
#include "katib/db/commands.h"
#include "katib/db/service.h"
#include "katib/db/store_place.h"
#include "katib/rpc/grpc_log.h"
#include "os/clock.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr const char* kDbHelp =
    R"(Examples:
  tacho-katib db                                          in a file of your own, on port 6789
  tacho-katib db --listen 127.0.0.1:6789 --store katib.db
  PGPASSWORD=... tacho-katib db --store postgres://katib@dbhost:5432/katib

Keeps the metric logs of trials: Katib's DBManager service (gRPC) on SQLite or PostgreSQL. Options:
  --listen, --listen-address HOST:PORT   where to serve (0.0.0.0:6789); port 0: any free one
  --store FILE|URL                       SQLite file or postgres://USER@HOST:PORT/DATABASE; else TACHO_KATIB_STORE, else
                                         DB_NAME=postgres with DB_USER, DB_PASSWORD, KATIB_POSTGRESQL_DB_HOST, ..._PORT,
                                         ..._DATABASE, KATIB_POSTGRESQL_SSL_MODE; else ~/.local/state/tacho/katib.db
  --store-url-file FILE                  a file that holds the URL, so that its password is in no command line
  --connect-timeout DURATION             how long PostgreSQL is waited for at the start (60s)
  --tls-cert FILE, --tls-key FILE        serve with TLS
  --tls-ca FILE                          clients must show a certificate of this authority
  --memory SIZE                          above it, who sent most is disconnected (half of the machine's or container's)

A password: PGPASSWORD, ~/.pgpass or --store-url-file. SIGTERM lets running calls finish.
)";
constexpr auto kDbFlags = std::to_array<GoFlag>({{"listen"},
                                                 {"listen-address"},
                                                 {"store"},
                                                 {"store-url-file"},
                                                 {"connect-timeout"},
                                                 {"memory"},
                                                 {"tls", true},
                                                 {"tls-cert"},
                                                 {"tls-key"},
                                                 {"tls-ca"}});
constexpr int64_t kGraceMs = 20'000;
constexpr int64_t kBetweenAttemptsNs = 5 * kNsPerSec;

struct DbOptions {
  DbServerOptions server;
  std::string store, store_url_file;
  int64_t connect_timeout_ns = 60 * kNsPerSec;
  bool tls = false;
};

Result<DbOptions> read_db_options(const GivenFlags& given) {
  DbOptions options;
  for (const auto& [name, value] : given.flags) {
    if (name == "listen" || name == "listen-address") options.server.listen = value;
    if (name == "store") options.store = value;
    if (name == "store-url-file") options.store_url_file = value;
    if (name == "tls") options.tls = parse_go_bool(value);
    if (name == "tls-cert") options.server.tls_cert_file = value;
    if (name == "tls-key") options.server.tls_key_file = value;
    if (name == "tls-ca") options.server.tls_ca_file = value;
    if (name == "connect-timeout") {
      const auto ns = parse_go_duration_ns(value);
      if (!ns) return Error{Code::invalid, "no duration", "-connect-timeout " + value, "for example 60s"};
      options.connect_timeout_ns = *ns;
    }
    if (name == "memory") {
      const auto bytes = parse_bytes(value);
      if (!bytes) return Error{Code::invalid, "no amount of memory", "--memory " + value, "for example 512M"};
      options.server.memory_bytes = *bytes;
    }
  }
  DbServerOptions& server = options.server;
  const bool wants_tls =
      options.tls || !server.tls_ca_file.empty() || !server.tls_cert_file.empty() || !server.tls_key_file.empty();
  if (wants_tls && (server.tls_cert_file.empty() || server.tls_key_file.empty())) {
    return Error{Code::invalid, "TLS needs a certificate and its key", "", "give --tls-cert FILE and --tls-key FILE"};
  }
  // gRPC would take port 65537 for port 1. ":6789" is every interface, as Go has it.
  const auto port = parse_int<uint16_t>(std::string_view(server.listen).substr(server.listen.rfind(':') + 1));
  if (!server.listen.starts_with("unix:") && (server.listen.find(':') == server.listen.npos || !port)) {
    return Error{Code::invalid, "no address to listen on", server.listen, "HOST:PORT, for example 127.0.0.1:6789"};
  }
  if (server.listen.starts_with(':')) server.listen.insert(0, "0.0.0.0");
  if (!options.store.empty() && !options.store_url_file.empty()) {
    return Error{Code::invalid, "two stores", "--store and --store-url-file", "give one of them"};
  }
  return options;
}

// Until the deadline or a signal; true: the signal.
bool wait_for_signal(SignalQueue& signals, int64_t deadline_ns) {
  std::array<pollfd, 1> fds = {{{signals.fd(), POLLIN, 0}}};
  return system_clock().wait(fds, deadline_ns) > 0 && signals.next().has_value();
}

// A server that is still starting is normal; what the place says wrongly stays wrong.
Result<std::unique_ptr<ObservationStore>> open_patiently(const StorePlace& place, int64_t timeout_ns,
                                                         SignalQueue& signals) {
  const int64_t give_up_ns = system_clock().monotonic_ns() + timeout_ns;
  for (;;) {
    Result<std::unique_ptr<ObservationStore>> store = open_store(place, false);
    if (store || !place.file.empty() || store.error().code != Code::io) return store;
    const int64_t next_ns = system_clock().monotonic_ns() + kBetweenAttemptsNs;
    if (next_ns > give_up_ns) return store;
    log::warn(store.error().message() + "; trying again every 5 s");
    if (wait_for_signal(signals, next_ns))
      return Error{Code::gone, "ended by a signal while waiting for the store", "", ""};
  }
}

int fail(const Error& error, int code) {
  std::fprintf(stderr, "tacho-katib db: %s\n", error.message().c_str());
  return code;
}

}  // namespace

int db_command(std::span<const std::string> words) {
  const Result<GivenFlags> given = parse_go_flags(words, kDbFlags);
  if (!given) return std::fprintf(stderr, "tacho-katib db: %s\n\n%s", given.error().message().c_str(), kDbHelp), 2;
  if (given->help) return std::fputs(kDbHelp, stdout) < 0 ? 1 : 0;
  const Result<DbOptions> options = read_db_options(*given);
  if (!options) return std::fprintf(stderr, "tacho-katib db: %s\n\n%s", options.error().message().c_str(), kDbHelp), 2;
  if (has_password(options->store)) {
    log::warn(
        "a password in the command line is seen by every user of this machine; use PGPASSWORD, ~/.pgpass or "
        "--store-url-file");
  }
  const Result<StorePlace> place =
      options->store_url_file.empty() ? find_store(options->store) : find_store_in_file(options->store_url_file);
  if (!place) return fail(place.error(), place.error().code == Code::invalid ? 2 : 1);

  // Before any thread is there: all of them must have these blocked.
  const std::array numbers = {SIGTERM, SIGINT, SIGHUP};
  SignalQueue signals(numbers);
  ignore_broken_pipes();
  quiet_grpc();
  Result<std::unique_ptr<ObservationStore>> store = open_patiently(*place, options->connect_timeout_ns, signals);
  if (!store) return fail(store.error(), store.error().code == Code::gone ? 0 : 1);
  const std::string stored_in = (*store)->description();
  const Result<std::unique_ptr<DbServer>> server = DbServer::start(options->server, std::move(*store));
  if (!server) return fail(server.error(), 1);
  const std::string& listen = options->server.listen;
  const std::string address = listen.starts_with("unix:")
                                  ? listen
                                  : listen.substr(0, listen.rfind(':') + 1) + std::to_string((*server)->port());
  std::fprintf(stderr, "tacho-katib db: serving on %s, storing in %s\n", address.c_str(), stored_in.c_str());
  while (!wait_for_signal(signals, INT64_MAX)) {}
  (*server)->stop(kGraceMs);
  return 0;
}

}  // namespace tacho
