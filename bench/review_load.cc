#include "review_load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/text.h"
#include "os/clock.h"
#include "os/fd.h"

namespace tacho {
namespace {

struct Client {
  Fd fd;
  SSL* ssl = nullptr;
  std::string answer;
  size_t sent = 0;
  bool busy = false;
  int64_t due_ns = 0;
  ~Client() { SSL_free(ssl); }
};

bool open_client(Client& client, SSL_CTX* context, uint16_t port) {
  client.fd = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(client.fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return false;
  const int on = 1;
  ::setsockopt(client.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  client.ssl = SSL_new(context);
  SSL_set_fd(client.ssl, client.fd.get());
  if (SSL_connect(client.ssl) != 1) return false;
  ::fcntl(client.fd.get(), F_SETFL, O_NONBLOCK);
  return true;
}

// The whole answer is there: its length is in its head, or it comes in chunks (as Go's server sends what is long).
bool is_whole(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const std::string fields = lower(std::string_view(answer).substr(0, head));
  if (fields.find("transfer-encoding: chunked") != std::string::npos) return answer.ends_with("\r\n0\r\n\r\n");
  const size_t length = fields.find("content-length: ");
  return length != std::string::npos &&
         answer.size() >= head + 4 + std::strtoul(answer.c_str() + length + 16, nullptr, 10);
}

}  // namespace

int64_t LoadResult::percentile_ns(double share) const {
  if (latencies_ns.empty()) return 0;
  return latencies_ns[std::min(latencies_ns.size() - 1,
                               static_cast<size_t>(share * static_cast<double>(latencies_ns.size())))];
}

LoadResult run_load(const LoadOptions& options) {
  LoadResult out;
  const std::string request =
      "POST /mutate-pod?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(options.body.size()) + "\r\n\r\n" + options.body;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<std::unique_ptr<Client>> clients;
  std::deque<Client*> idle;
  for (int i = 0; i < options.connections; i++) {
    clients.push_back(std::make_unique<Client>());
    if (!open_client(*clients.back(), context.get(), options.port)) return out.failed = 1, out;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = clients.back().get();
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, clients.back()->fd.get(), &event);
    idle.push_back(clients.back().get());
  }
  Clock& clock = system_clock();
  const int64_t begin_ns = clock.monotonic_ns();
  const double gap_ns = options.per_second > 0 ? 1e9 / options.per_second : 0;
  int64_t started = 0;
  out.latencies_ns.reserve(static_cast<size_t>(options.reviews));
  const auto send_rest = [&](Client& client) {
    while (client.sent < request.size()) {
      size_t written = 0;
      if (SSL_write_ex(client.ssl, request.data() + client.sent, request.size() - client.sent, &written) != 1) return;
      client.sent += written;
    }
  };
  while (out.answered + out.failed < options.reviews) {
    int64_t now_ns = clock.monotonic_ns();
    while (started < options.reviews && !idle.empty()) {
      const int64_t due_ns =
          gap_ns > 0 ? begin_ns + static_cast<int64_t>(static_cast<double>(started) * gap_ns) : now_ns;
      if (due_ns > now_ns) break;
      Client& client = *idle.front();
      idle.pop_front();
      client.busy = true;
      client.due_ns = due_ns;  // not when it was sent: whoever waits for a connection waits too
      client.sent = 0;
      client.answer.clear();
      send_rest(client);
      started++;
    }
    epoll_event events[256];
    const int count = ::epoll_wait(epoll.get(), events, std::size(events), gap_ns > 0 ? 0 : 100);
    now_ns = clock.monotonic_ns();
    for (int i = 0; i < count; i++) {
      Client& client = *static_cast<Client*>(events[i].data.ptr);
      if (client.busy && client.sent < request.size()) send_rest(client);
      char buffer[32768];
      size_t got = 0;
      while (SSL_read_ex(client.ssl, buffer, sizeof buffer, &got) == 1) client.answer.append(buffer, got);
      if (!client.busy || !is_whole(client.answer)) continue;
      const bool fine =
          client.answer.starts_with("HTTP/1.1 200") && client.answer.find("\"patch\"") != std::string::npos;
      (fine ? out.answered : out.failed)++;
      out.latencies_ns.push_back(now_ns - client.due_ns);
      client.busy = false;
      idle.push_back(&client);
    }
    // A paced load sleeps until the next review is due, not longer than that.
    if (gap_ns > 0 && count == 0) ::usleep(50);
  }
  out.seconds = static_cast<double>(clock.monotonic_ns() - begin_ns) / 1e9;
  std::sort(out.latencies_ns.begin(), out.latencies_ns.end());
  return out;
}

}  // namespace tacho
