#include "http/client.h"

#include <http_parser.h>

#include <array>

#include "base/text.h"
#include "http/client_socket.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int kRedirects = 5;

bool is_redirect(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }

// "[::1]" where an address has colons.
std::string bracketed(const std::string& host) { return host.find(':') == std::string::npos ? host : std::string("[") + host + "]"; }

}  // namespace

struct GetClient::Connection {
  ClientSocket socket;
  bool used = false;  // has carried a whole answer
};

// One request and its answer, fed by http_parser.
struct GetClient::Exchange {
  HttpAnswer answer;
  std::string location;
  const OnHead* on_head = nullptr;
  const OnBody* on_body = nullptr;
  size_t body_bytes = 0, body_limit = 0;
  bool complete = false, keep_alive = false, refused = false, too_large = false, any_byte = false;
  std::string field, value;
  bool in_value = false;

  void take_header() {
    const std::string name = lower(field);
    if (name == "content-type") answer.content_type = trim(value);
    if (name == "location") location = trim(value);
    field.clear();
    value.clear();
    in_value = false;
  }
  static Exchange& of(http_parser* parser) { return *static_cast<Exchange*>(parser->data); }
  static int on_field(http_parser* parser, const char* at, size_t size) {
    Exchange& self = of(parser);
    if (self.in_value) self.take_header();
    if (self.field.size() + size > 8192) return 1;
    self.field.append(at, size);
    return 0;
  }
  static int on_value(http_parser* parser, const char* at, size_t size) {
    Exchange& self = of(parser);
    self.in_value = true;
    if (self.value.size() + size > 65536) return 1;
    self.value.append(at, size);
    return 0;
  }
  static int on_headers_complete(http_parser* parser) {
    Exchange& self = of(parser);
    if (self.in_value) self.take_header();
    self.answer.status = static_cast<int>(parser->status_code);
    if (self.answer.status / 100 == 2 && *self.on_head) self.refused = !(*self.on_head)(self.answer);
    return self.refused ? -1 : 0;
  }
  static int on_data(http_parser* parser, const char* at, size_t size) {
    Exchange& self = of(parser);
    self.body_bytes += size;
    self.too_large = self.body_bytes > self.body_limit;
    if (self.too_large) return 1;
    if (self.answer.status / 100 == 2 && *self.on_body) (*self.on_body)({at, size});
    return 0;
  }
  static int on_complete(http_parser* parser) {
    Exchange& self = of(parser);
    if (self.answer.status / 100 == 1) return 0;  // 100 Continue: the answer follows
    self.complete = true;
    self.keep_alive = http_should_keep_alive(parser) != 0;
    http_parser_pause(parser, 1);
    return 0;
  }
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

  http_parser parser;
  http_parser_init(&parser, HTTP_RESPONSE);
  parser.data = &out;
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_header_field = Exchange::on_field;
  settings.on_header_value = Exchange::on_value;
  settings.on_headers_complete = Exchange::on_headers_complete;
  settings.on_body = Exchange::on_data;
  settings.on_message_complete = Exchange::on_complete;
  std::array<char, 16384> buffer;
  while (!out.complete) {
    const auto size = connection_->socket.read(buffer, deadline_ns);
    if (!size) return size.error();
    out.any_byte = out.any_byte || *size > 0;
    const size_t parsed = http_parser_execute(&parser, &settings, buffer.data(), *size);
    const bool paused = HTTP_PARSER_ERRNO(&parser) == HPE_PAUSED;
    if (out.refused) return Error{Code::invalid, "the answer is of a kind that is not wanted", out.answer.content_type, ""};
    if (out.too_large) return Error{Code::invalid, "the answer is longer than " + std::to_string(out.body_limit >> 20) + " MiB", path, ""};
    if (HTTP_PARSER_ERRNO(&parser) != HPE_OK && !paused)
      return Error{Code::invalid, std::string("the answer is no HTTP: ") + http_errno_description(HTTP_PARSER_ERRNO(&parser)), path, ""};
    if (*size == 0 && !out.complete) return Error{Code::io, "the answer was cut off", path, ""};
    if (out.complete && parsed < *size) out.keep_alive = false;  // bytes that nobody asked for
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
