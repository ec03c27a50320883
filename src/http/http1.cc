// HTTP/1.1 on http_parser: one request at a time; a pipelined one waits in the input until the answer is out.
#include <http_parser.h>

#include "base/log.h"
#include "base/text.h"
#include "http/protocol.h"

namespace tacho {
namespace {

class Http1 final : public Protocol {
 public:
  Http1(const Limits& limits, Dispatch dispatch) : limits_(limits), dispatch_(std::move(dispatch)) {
    http_parser_init(&parser_, HTTP_REQUEST);
    parser_.data = this;
  }
  ~Http1() override { release(); }

  bool receive(std::string_view bytes) override;
  void respond(uint64_t stream, ServedResponse&& response) override;
  void collect(std::string& out) override;
  bool wants_input() const override { return !busy_ && !closing_; }
  bool finished() const override { return closing_ && !busy_; }
  void drain() override;
  Progress progress() const override;

 private:
  static Http1& self(http_parser* parser) { return *static_cast<Http1*>(parser->data); }
  static const http_parser_settings& settings();
  int on_begin();
  int on_header_part(std::string_view part, bool is_name);
  int on_headers_complete();
  int on_body(std::string_view part);
  int on_complete();
  void finish_header();
  void refuse(int status);
  void release();
  bool parse();

  Limits limits_;
  Dispatch dispatch_;
  http_parser parser_{};
  std::string input_;  // not parsed yet: what came behind a request that is being answered
  std::string output_;
  ServedRequest request_;
  std::string target_, name_, value_;
  bool in_value_ = false;
  size_t head_bytes_ = 0, charged_ = 0;
  uint64_t number_ = 0;  // of the request
  bool in_head_ = false, in_body_ = false;
  bool busy_ = false;      // the handler has it
  bool complete_ = false;  // the parser stopped behind a request
  bool closing_ = false, draining_ = false;
  int refusal_ = 0;  // status to answer with before the connection ends
  bool parsing_ = false;
};

const http_parser_settings& Http1::settings() {
  static const http_parser_settings kSettings = [] {
    http_parser_settings s;
    http_parser_settings_init(&s);
    s.on_message_begin = [](http_parser* p) { return self(p).on_begin(); };
    s.on_url = [](http_parser* p, const char* at, size_t n) {
      Http1& me = self(p);
      me.head_bytes_ += n;
      me.target_.append(at, n);
      return me.head_bytes_ > kHeadLimit ? (me.refusal_ = 414, 1) : 0;
    };
    s.on_header_field = [](http_parser* p, const char* at, size_t n) { return self(p).on_header_part({at, n}, true); };
    s.on_header_value = [](http_parser* p, const char* at, size_t n) { return self(p).on_header_part({at, n}, false); };
    s.on_headers_complete = [](http_parser* p) { return self(p).on_headers_complete(); };
    s.on_body = [](http_parser* p, const char* at, size_t n) { return self(p).on_body({at, n}); };
    s.on_message_complete = [](http_parser* p) { return self(p).on_complete(); };
    return s;
  }();
  return kSettings;
}

int Http1::on_begin() {
  request_ = ServedRequest{};
  target_.clear();
  name_.clear();
  value_.clear();
  in_value_ = false;
  head_bytes_ = 0;
  in_head_ = true;
  number_++;
  return 0;
}

void Http1::finish_header() {
  if (!name_.empty()) request_.headers.emplace_back(lower(name_), trim(value_));
  name_.clear();
  value_.clear();
  in_value_ = false;
}

int Http1::on_header_part(std::string_view part, bool is_name) {
  head_bytes_ += part.size();
  if (head_bytes_ > kHeadLimit || request_.headers.size() > 256) return refusal_ = 431, 1;
  if (is_name && in_value_) finish_header();
  in_value_ = !is_name;
  (is_name ? name_ : value_) += part;
  return 0;
}

int Http1::on_headers_complete() {
  if (in_body_ || !in_head_) return 0;  // trailers
  finish_header();
  in_head_ = false;
  in_body_ = true;
  parser_.upgrade = 0;  // no other protocol is offered: the request is answered as it stands
  request_.method = http_method_str(static_cast<http_method>(parser_.method));
  if (parser_.method == HTTP_CONNECT) return refusal_ = 405, -1;
  http_parser_url url;
  http_parser_url_init(&url);
  if (http_parser_parse_url(target_.data(), target_.size(), 0, &url) == 0 && (url.field_set & (1 << UF_PATH))) {
    split_target(std::string_view(target_).substr(url.field_data[UF_PATH].off), request_);
  } else {
    request_.path = target_;
  }
  request_.has_client_certificate = limits_.has_client_certificate;
  if (parser_.content_length != UINT64_MAX && parser_.content_length > limits_.body_limit) return refusal_ = 413, -1;
  if (lower(request_.header("expect")) == "100-continue") output_ += "HTTP/1.1 100 Continue\r\n\r\n";
  return 0;
}

int Http1::on_body(std::string_view part) {
  if (request_.body.size() + part.size() > limits_.body_limit) return refusal_ = 413, 1;
  if (!limits_.budget->take(part.size())) return refusal_ = 503, 1;
  charged_ += part.size();
  request_.body += part;
  return 0;
}

int Http1::on_complete() {
  in_body_ = false;
  complete_ = true;
  http_parser_pause(&parser_, 1);
  return 0;
}

void Http1::release() {
  limits_.budget->give(charged_);
  charged_ = 0;
}

void Http1::refuse(int status) {
  busy_ = true;
  closing_ = true;
  ServedResponse response;
  response.status = status;
  response.body = std::string(http_status_str(static_cast<http_status>(status))) + "\n";
  respond(number_, std::move(response));
}

bool Http1::receive(std::string_view bytes) {
  input_ += bytes;
  if (parsing_ || busy_) return true;
  parsing_ = true;
  const bool fine = parse();
  parsing_ = false;
  return fine;
}

bool Http1::parse() {
  while (!input_.empty() && !busy_ && !closing_) {
    const size_t used = http_parser_execute(&parser_, &settings(), input_.data(), input_.size());
    const http_errno error = HTTP_PARSER_ERRNO(&parser_);
    input_.erase(0, used);
    if (complete_) {
      complete_ = false;
      http_parser_pause(&parser_, 0);
      if (http_should_keep_alive(&parser_) == 0 || draining_) closing_ = true;
      release();
      busy_ = true;
      dispatch_(number_, std::move(request_));
      continue;
    }
    if (refusal_ != 0 || error == HPE_HEADER_OVERFLOW) {
      const int status = refusal_ != 0 ? refusal_ : 431;
      tell_refused(status, limits_);
      refuse(status);
      return false;
    }
    if (error != HPE_OK) {
      refuse(400);
      return false;
    }
  }
  if (input_.empty() && input_.capacity() > (16u << 10)) std::string().swap(input_);
  return true;
}

void Http1::respond(uint64_t stream, ServedResponse&& response) {
  if (!busy_ || stream != number_) return;
  busy_ = false;
  const bool bodiless = response.status == 204 || response.status == 304;
  output_ += "HTTP/1.1 " + std::to_string(response.status) + " " +
             http_status_str(static_cast<http_status>(response.status)) + "\r\n";
  if (!bodiless) {
    output_ += "content-type: " + response.content_type + "\r\n";
    output_ += "content-length: " + std::to_string(response.body.size()) + "\r\n";
  }
  for (const auto& [name, value] : response.headers) output_ += name + ": " + value + "\r\n";
  if (closing_ || draining_) output_ += "connection: close\r\n";
  else if (parser_.http_major == 1 && parser_.http_minor == 0) output_ += "connection: keep-alive\r\n";
  if (draining_) closing_ = true;
  output_ += "\r\n";
  if (!bodiless && parser_.method != HTTP_HEAD) output_ += response.body;
  if (!parsing_ && !closing_ && !input_.empty()) {
    parsing_ = true;
    parse();
    parsing_ = false;
  }
}

void Http1::collect(std::string& out) {
  if (out.empty()) {
    out.swap(output_);
  } else {
    out += output_;
  }
  output_.clear();
}

void Http1::drain() {
  draining_ = true;
  if (!busy_ && !in_head_ && !in_body_ && input_.empty()) closing_ = true;
}

Protocol::Progress Http1::progress() const {
  if (busy_) return {Phase::busy, number_};
  if (in_body_) return {Phase::body, number_};
  if (in_head_) return {Phase::head, number_};
  return {number_ == 0 ? Phase::head : Phase::idle, number_};
}

}  // namespace

std::unique_ptr<Protocol> make_http1(const Protocol::Limits& limits, Protocol::Dispatch dispatch) {
  return std::make_unique<Http1>(limits, std::move(dispatch));
}

void tell_refused(int status, const Protocol::Limits& limits) {
  if (status == 413)
    log::warn("a request was refused: its body is larger than " + std::to_string(limits.body_limit) + " bytes");
  if (status == 414 || status == 431) log::warn("a request was refused: its head is too large");
  if (status == 503) log::warn("a request was refused: too many large bodies at a time");
}

void split_target(std::string_view target, ServedRequest& request) {
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
}

std::string_view ServedRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return value;
  }
  return {};
}

}  // namespace tacho
