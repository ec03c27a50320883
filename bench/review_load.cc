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

// One load: its connections, and what was answered on them.
class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options),
        request_(
            "POST /mutate-pod?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
            std::to_string(options.body.size()) + "\r\n\r\n" + options.body),
        gap_ns_(options.per_second > 0 ? 1e9 / options.per_second : 0),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  LoadResult run() {
    if (!connect()) return result_.failed = 1, std::move(result_);
    const int64_t begin_ns = system_clock().monotonic_ns();
    result_.latencies_ns.reserve(static_cast<size_t>(options_.reviews));
    while (result_.answered + result_.failed < options_.reviews) {
      start_due(begin_ns);
      // A paced load sleeps until the next review is due, not longer than that.
      if (!take_answers() && gap_ns_ > 0) ::usleep(50);
    }
    result_.seconds = static_cast<double>(system_clock().monotonic_ns() - begin_ns) / 1e9;
    std::sort(result_.latencies_ns.begin(), result_.latencies_ns.end());
    return std::move(result_);
  }

 private:
  bool connect() {
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    for (int i = 0; i < options_.connections; i++) {
      clients_.push_back(std::make_unique<Client>());
      Client& client = *clients_.back();
      if (!open_client(client, context_.get(), options_.port)) return false;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &client;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.fd.get(), &event);
      idle_.push_back(&client);
    }
    return true;
  }

  void start_due(int64_t begin_ns) {
    const int64_t now_ns = system_clock().monotonic_ns();
    for (; started_ < options_.reviews && !idle_.empty(); started_++) {
      const int64_t due_ns =
          gap_ns_ > 0 ? begin_ns + static_cast<int64_t>(static_cast<double>(started_) * gap_ns_) : now_ns;
      if (due_ns > now_ns) return;
      Client& client = *idle_.front();
      idle_.pop_front();
      client.busy = true;
      client.due_ns = due_ns;  // not when it was sent: whoever waits for a connection waits too
      client.sent = 0;
      client.answer.clear();
      send_rest(client);
    }
  }

  void send_rest(Client& client) {
    while (client.sent < request_.size()) {
      size_t written = 0;
      if (SSL_write_ex(client.ssl, request_.data() + client.sent, request_.size() - client.sent, &written) != 1) return;
      client.sent += written;
    }
  }

  // Whether there was anything to read.
  bool take_answers() {
    epoll_event events[256];
    const int count = ::epoll_wait(epoll_.get(), events, std::size(events), gap_ns_ > 0 ? 0 : 100);
    const int64_t now_ns = system_clock().monotonic_ns();
    for (int i = 0; i < count; i++) take_answer(*static_cast<Client*>(events[i].data.ptr), now_ns);
    return count > 0;
  }

  void take_answer(Client& client, int64_t now_ns) {
    if (client.busy && client.sent < request_.size()) send_rest(client);
    char buffer[32768];
    size_t got = 0;
    while (SSL_read_ex(client.ssl, buffer, sizeof buffer, &got) == 1) client.answer.append(buffer, got);
    if (!client.busy || !is_whole(client.answer)) return;
    const bool fine = client.answer.starts_with("HTTP/1.1 200") && client.answer.find("\"patch\"") != std::string::npos;
    (fine ? result_.answered : result_.failed)++;
    result_.latencies_ns.push_back(now_ns - client.due_ns);
    client.busy = false;
    idle_.push_back(&client);
  }

  const LoadOptions& options_;
  std::string request_;
  double gap_ns_;  // between two reviews; 0: as fast as it goes
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  Fd epoll_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::deque<Client*> idle_;
  int64_t started_ = 0;
  LoadResult result_;
};

}  // namespace

int64_t LoadResult::percentile_ns(double share) const {
  if (latencies_ns.empty()) return 0;
  return latencies_ns[std::min(latencies_ns.size() - 1,
                               static_cast<size_t>(share * static_cast<double>(latencies_ns.size())))];
}

LoadResult run_load(const LoadOptions& options) { return Load(options).run(); }

}  // namespace tacho
