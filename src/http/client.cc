#include "http/client.h"

#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>
#include <optional>

#include "base/text.h"
#include "http/client_socket.h"
#include "os/clock.h"

namespace tacho {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using View = boost::beast::string_view;

constexpr int kRedirects = 5;
constexpr size_t kHeadBytes = 64u << 10, kFields = 256, kHalfLine = 64u << 10, kInterim = 8;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// "[::1]" where an address has colons.
std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : std::string("[") + host + "]";
}

}  // namespace

struct GetClient::Connection {
  ClientSocket socket;
  bool used = false;  // has carried a whole answer
};

// One request and what comes of its answer.
struct GetClient::Exchange {
  HttpAnswer answer;
  std::string location;
  const OnHead* on_head = nullptr;
  const OnBody* on_body = nullptr;
  size_t body_bytes = 0, body_limit = 0;
  bool complete = false, keep_alive = false, refused = false, too_large = false, any_byte = false;
};

// An answer on Boost.Beast's parser; its body is passed on as it comes.
class GetClient::AnswerParser final : public http::basic_parser<false> {
 public:
  explicit AnswerParser(Exchange& out) : out_(out) {
    eager(true);
    header_limit(kHeadBytes);
    body_limit(std::numeric_limits<std::uint64_t>::max());  // counted here
  }

 private:
  void on_response_impl(int status, View, int, error_code&) override { out_.answer = {status, ""}; }
  void on_field_impl(http::field field, View name, View value, error_code& error) override {
    head_bytes_ += name.size() + value.size() + 4;
    if (head_bytes_ > kHeadBytes || ++fields_ > kFields) error = http::error::header_limit;
    if (error || is_header_done()) return;
    const std::string_view text(value.data(), value.size());
    if (field == http::field::content_type) out_.answer.content_type = trim(text);
    if (field == http::field::location) out_.location = trim(text);
  }
  void on_header_impl(error_code& error) override {
    if (out_.answer.status / 100 == 2 && *out_.on_head) out_.refused = !(*out_.on_head)(out_.answer);
    if (out_.refused) error = http::error::bad_value;
  }
  size_t take(View part, error_code& error) {
    out_.body_bytes += part.size();
    out_.too_large = out_.body_bytes > out_.body_limit;
    if (out_.too_large) error = http::error::body_limit;
    else if (out_.answer.status / 100 == 2 && *out_.on_body) (*out_.on_body)({part.data(), part.size()});
    return part.size();
  }
  size_t on_body_impl(View part, error_code& error) override { return take(part, error); }
  size_t on_chunk_body_impl(std::uint64_t, View part, error_code& error) override { return take(part, error); }
  void on_request_impl(http::verb, View, View, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, View, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  Exchange& out_;
  size_t head_bytes_ = 0, fields_ = 0;
};

GetClient::GetClient(HttpTarget target) : target_(std::move(target)) {}
GetClient::~GetClient() = default;

Status GetClient::connect(int64_t deadline_ns) {
  auto socket = ClientSocket::open({target_.tls, target_.host, target_.port, target_.ca_file}, deadline_ns);
  if (!socket) return socket.error();
  connection_ = std::make_unique<Connection>(Connection{std::move(*socket), false});
  return ok();
}

Status GetClient::exchange(const std::string& path, int64_t deadline_ns, Exchange& out) {
  std::string request = "GET " + path + " HTTP/1.1\r\n";
  bool has_host = false, has_accept = false;
  for (const auto& [name, value] : target_.headers) {
    request += name + ": " + value + "\r\n";
    has_host = has_host || lower(name) == "host";
    has_accept = has_accept || lower(name) == "accept";
  }
  if (!has_host) request += "Host: " + bracketed(target_.host) + ":" + std::to_string(target_.port) + "\r\n";
  if (!has_accept) request += "Accept: */*\r\n";
  request += "User-Agent: tacho/" TACHO_VERSION "\r\n\r\n";
  if (const Status sent = connection_->socket.write(request, deadline_ns); !sent) return sent;

  std::optional<AnswerParser> parser;
  size_t interim = 0;
  std::string input;  // not parsed yet: half a line
  std::array<char, 16384> buffer;
  while (!out.complete) {
    const auto size = connection_->socket.read(buffer, deadline_ns);
    if (!size) return size.error();
    out.any_byte = out.any_byte || *size > 0;
    input.append(buffer.data(), *size);
    error_code error;
    for (size_t used = 1; used > 0 && !input.empty() && !error && !out.complete;) {
      if (!parser) parser.emplace(out);
      used = parser->put(boost::asio::const_buffer(input.data(), input.size()), error);
      if (error == http::error::need_more) error = {};
      input.erase(0, used);
      if (error || !parser->is_done()) continue;
      if (out.answer.status / 100 == 1 && ++interim <= kInterim) {
        parser.reset();  // 100 Continue: the answer follows
        continue;
      }
      out.complete = true;
      out.keep_alive = parser->keep_alive();
    }
    if (!error && *size == 0 && !out.complete && parser && parser->is_header_done()) {
      parser->put_eof(error);  // the end of a body without a length
      out.complete = !error && parser->is_done();
      if (error == http::error::partial_message) error = {};
    }
    if (out.refused)
      return Error{Code::invalid, "the answer is of a kind that is not wanted", out.answer.content_type, ""};
    if (out.too_large)
      return Error{Code::invalid, "the answer is longer than " + std::to_string(out.body_limit >> 20) + " MiB", path,
                   ""};
    if (error || input.size() > kHalfLine)
      return Error{Code::invalid, "the answer is no HTTP: " + error.message(), path, ""};
    if (*size == 0 && !out.complete) return Error{Code::io, "the answer was cut off", path, ""};
    if (out.complete && !input.empty()) out.keep_alive = false;  // bytes that nobody asked for
  }
  return ok();
}

Result<HttpAnswer> GetClient::get(int64_t deadline_ns, const OnHead& on_head, const OnBody& on_body) {
  std::string path = target_.path;
  for (int redirects = 0; redirects <= kRedirects; ++redirects) {
    Exchange exchange;
    exchange.on_head = &on_head;
    exchange.on_body = &on_body;
    exchange.body_limit = target_.body_limit;
    const bool kept = connection_ != nullptr;
    Status status = kept ? ok() : connect(deadline_ns);
    if (status) status = this->exchange(path, deadline_ns, exchange);
    if (!status && kept && !exchange.any_byte && system_clock().monotonic_ns() < deadline_ns) {
      status = connect(deadline_ns);
      if (status) status = this->exchange(path, deadline_ns, exchange);
    }
    if (!status || !exchange.keep_alive) connection_.reset();
    if (!status) return status.error();
    if (!is_redirect(exchange.answer.status)) return exchange.answer;
    const auto next = redirect_path(exchange.location, path, {target_.tls, target_.host, target_.port, ""});
    if (!next) return Error{Code::invalid, "redirected to another host, which is not followed", exchange.location, ""};
    path = *next;
  }
  return Error{Code::invalid, "redirected too often", path, ""};
}

}  // namespace tacho
