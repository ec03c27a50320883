// HTTP/1.1 on Boost.Beast's parser: one request at a time; a pipelined one waits in the input until the answer is out.
// Beast is lenient where two programs could read one request in two ways (folded lines, a list of lengths, an unknown
// transfer coding); here all that is refused.
#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/status.hpp>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "http/protocol.h"

namespace tacho {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using View = boost::beast::string_view;

std::string_view plain(View text) { return {text.data(), text.size()}; }

// Told once a reason: what was refused never reaches the handler.
void tell_refused(int status, const Protocol::Limits& limits) {
  if (status == 413)
    log::warn("a request was refused: its body is larger than " + std::to_string(limits.body_limit) + " bytes");
  if (status == 414 || status == 431) log::warn("a request was refused: its head is too large");
  if (status == 503)
    log::warn("a request was refused: too many large bodies at a time, or it came in too slowly among them");
}

// "/a?b=c", or "http://host/a?b=c" as it is sent to a proxy, into path and query.
void split_target(std::string_view target, ServedRequest& request) {
  if (!target.starts_with('/')) {
    if (const size_t scheme = target.find("://"); scheme != std::string_view::npos) {
      const size_t slash = target.find('/', scheme + 3);
      target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
  }
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
}

// One request, as far as it has come.
class RequestParser final : public http::basic_parser<true> {
 public:
  explicit RequestParser(const Protocol::Limits& limits) : limits_(limits) {
    eager(true);
    header_limit(kHeadLimit);
    body_limit(limits.body_limit);
  }

  // How many bytes were used. The text must not move before the call is over.
  size_t feed(std::string_view text, error_code& error) {
    text_ = text;
    const size_t used = put(boost::asio::const_buffer(text.data(), text.size()), error);
    if (error == http::error::need_more) error = {};
    return used;
  }
  // The status to answer with when feed() gave an error.
  int refusal(const error_code& error) const {
    if (refusal_ != 0) return refusal_;
    if (error == http::error::body_limit) return 413;
    if (error == http::error::header_limit) return has_start_ ? 431 : 414;
    return 400;
  }

  ServedRequest request;
  int version = 11;
  bool wants_continue = false;

 private:
  void refuse(int status, error_code& error) {
    refusal_ = status;
    error = http::error::bad_value;
  }
  bool too_much(size_t bytes, int status, error_code& error) {
    head_bytes_ += bytes;
    if (head_bytes_ > kHeadLimit) refuse(status, error);
    return head_bytes_ > kHeadLimit;
  }

  // Beast joins lines that are continued by a blank. Here a value has to stand in the text, on the line of its name,
  // and the next line has to begin with something else; Beast has looked at its first byte already.
  bool is_folded(std::string_view name, std::string_view value) const {
    const char* const end = text_.data() + text_.size();
    if (value.data() < name.data() || value.data() > end) return true;
    const std::string_view before(name.data() + name.size(),
                                  static_cast<size_t>(value.data() - name.data()) - name.size());
    const char* const behind = value.data() + value.size();
    std::string_view after(behind, static_cast<size_t>(end - behind));
    after.remove_prefix(std::min(after.find_first_not_of(" \t"), after.size()));
    return before.find_first_of("\r\n") != std::string_view::npos || !after.starts_with("\r\n") || after.size() < 3 ||
           after[2] == ' ' || after[2] == '\t';
  }

  void on_request_impl(http::verb method, View name, View target, int version_sent, error_code& error) override {
    has_start_ = true;
    version = version_sent;
    if (too_much(name.size() + target.size(), 414, error)) return;
    if (method == http::verb::connect) return refuse(405, error);
    request.method = plain(name);
    split_target(plain(target), request);
  }

  void on_field_impl(http::field field, View name, View value, error_code& error) override {
    if (too_much(name.size() + value.size() + 4, 431, error)) return;
    if (++fields_ > kFieldLimit) return refuse(431, error);
    if (is_folded(plain(name), plain(value))) return refuse(400, error);
    if (is_header_done()) return;  // a trailer
    switch (field) {
      case http::field::content_length:
        // Beast takes "3, 3" and a second field of the same length.
        if (std::exchange(has_length_, true) || value.size() > 18 ||
            !std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }))
          return refuse(400, error);
        break;
      case http::field::transfer_encoding:
        // Beast passes over a coding that it does not know, and takes the body for one without it.
        if (version < 11) return refuse(400, error);
        if (lower(plain(value)) != "chunked") return refuse(501, error);
        break;
      case http::field::host:
        if (std::exchange(has_host_, true)) return refuse(400, error);
        break;
      case http::field::expect:
        if (lower(plain(value)) != "100-continue") return refuse(417, error);
        wants_continue = version >= 11;
        break;
      default: break;
    }
    request.headers.emplace_back(lower(plain(name)), plain(value));
  }

  void on_header_impl(error_code& error) override {
    request.has_client_certificate = limits_.has_client_certificate;
    if (version >= 11 && !has_host_) refuse(400, error);  // RFC 9112, 3.2
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

  size_t take(View part) {
    std::string& body = request.body;
    // A length that is only promised takes no memory; one that has begun to come true is given its room at once, so
    // that the body is not copied while it grows.
    if (body.size() + part.size() > BodyBudget::kSmall && has_length_ && body.capacity() < body.size() + part.size())
      body.reserve(body.size() + static_cast<size_t>(content_length_remaining().value_or(0)));
    body.append(part.data(), part.size());
    return part.size();
  }
  size_t on_body_impl(View part, error_code&) override { return take(part); }
  void on_chunk_header_impl(std::uint64_t, View extension, error_code& error) override {
    extension_bytes_ += extension.size();
    if (extension_bytes_ > kChunkTalkLimit) refuse(400, error);
  }
  size_t on_chunk_body_impl(std::uint64_t, View part, error_code&) override { return take(part); }
  void on_response_impl(int, View, int, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  const Protocol::Limits& limits_;
  std::string_view text_;
  size_t head_bytes_ = 0, fields_ = 0, extension_bytes_ = 0;
  bool has_start_ = false, has_length_ = false, has_host_ = false;
  int refusal_ = 0;
};

class Http1 final : public Protocol {
 public:
  Http1(const Limits& limits, Dispatch dispatch)
      : limits_(limits), dispatch_(std::move(dispatch)), share_(limits_.budget, limits_.wake) {}

  bool receive(std::string_view bytes) override;
  void respond(uint64_t number, ServedResponse&& response) override;
  void collect(std::string& out) override;
  bool proceed() override;
  bool wants_input() const override { return !busy_ && !answered_ && !closing_; }
  bool finished() const override { return closing_ && !busy_; }
  void drain() override;
  Progress progress() const override;

 private:
  bool parse(std::string_view& text);
  bool refuse(int status);

  const Limits limits_;
  Dispatch dispatch_;
  BodyBudget::Share share_;
  std::optional<RequestParser> parser_;  // none: the next byte begins a request
  std::string input_;  // not parsed yet: half a line, or what came behind a request that is being answered
  std::string output_;
  uint64_t number_ = 0;  // of the request
  int version_ = 11;
  bool is_head_ = false;   // a HEAD is being answered
  bool busy_ = false;      // the handler has it
  bool answered_ = false;  // the answer is on its way
  bool closing_ = false, draining_ = false;
};

bool Http1::receive(std::string_view bytes) {
  if (!input_.empty()) {
    input_ += bytes;
    return proceed();
  }
  if (!parse(bytes)) return false;
  input_ = bytes;
  return true;
}

bool Http1::proceed() {
  answered_ = false;
  if (share_.is_evicted()) return refuse(503);
  std::string held = std::exchange(input_, {});
  std::string_view text = held;
  if (!parse(text)) return false;
  held.erase(0, held.size() - text.size());
  input_ = std::move(held);
  if (input_.empty() && input_.capacity() > 1024) input_ = {};
  return true;
}

// Takes away from the text what was used.
bool Http1::parse(std::string_view& text) {
  while (!text.empty() && wants_input()) {
    if (!parser_) {
      // An empty line before a request is passed over, as old clients end a body with one.
      if (text.starts_with("\r\n")) text.remove_prefix(2);
      if (text.empty() || text == "\r") break;
      parser_.emplace(limits_);
      number_++;
    }
    const bool was_in_head = !parser_->is_header_done();
    error_code error;
    const size_t used = parser_->feed(text, error);
    text.remove_prefix(used);
    if (error) return refuse(parser_->refusal(error));
    if (!share_.set(parser_->request.body.size() + text.size())) return refuse(503);
    if (parser_->is_done()) {
      version_ = parser_->version;
      if (!parser_->keep_alive() || draining_) closing_ = true;
      ServedRequest request = std::move(parser_->request);
      parser_.reset();
      is_head_ = request.method == "HEAD";
      busy_ = true;
      share_.complete();
      dispatch_(number_, std::move(request));
      continue;
    }
    if (was_in_head && parser_->is_header_done() && parser_->wants_continue && text.empty() &&
        parser_->request.body.empty())
      output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    if (used == 0) break;  // half a line: more is needed
  }
  // Half a line of the head is held to by the parser's own limit.
  if (parser_ && parser_->is_header_done() && !busy_ && text.size() > kChunkTalkLimit) return refuse(400);
  return true;
}

bool Http1::refuse(int status) {
  tell_refused(status, limits_);
  const std::string text =
      std::string(plain(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)))));
  output_ += "HTTP/1.1 " + std::to_string(status) + " " + text + "\r\ncontent-type: text/plain; charset=utf-8\r\n" +
             (status == 503 ? "retry-after: 1\r\n" : "") + "content-length: " + std::to_string(text.size() + 1) +
             "\r\nconnection: close\r\n\r\n" + text + "\n";
  closing_ = true;
  parser_.reset();
  share_.set(0);
  return false;
}

void Http1::respond(uint64_t number, ServedResponse&& response) {
  if (!busy_ || number != number_) return;
  busy_ = false;
  answered_ = true;
  share_.set(0);
  if (draining_ || (limits_.last_answers != nullptr && limits_.last_answers->load())) closing_ = true;
  const bool bodiless = response.status == 204 || response.status == 304;
  const View reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " + std::string(plain(reason)) + "\r\n";
  if (!bodiless) {
    head += "content-type: " + response.content_type + "\r\n";
    head += "content-length: " + std::to_string(response.body.size()) + "\r\n";
  }
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  if (closing_) head += "connection: close\r\n";
  else if (version_ < 11) head += "connection: keep-alive\r\n";
  head += "\r\n";
  output_.reserve(output_.size() + head.size() + response.body.size());
  output_ += head;
  if (!bodiless && !is_head_) output_ += response.body;
}

void Http1::collect(std::string& out) {
  if (out.empty()) out.swap(output_);
  else out += output_;
  output_.clear();
}

void Http1::drain() {
  draining_ = true;
  if (!busy_ && !answered_ && !parser_ && input_.empty()) closing_ = true;
}

Protocol::Progress Http1::progress() const {
  if (busy_) return {Phase::busy, number_};
  if (parser_) return {parser_->is_header_done() ? Phase::body : Phase::head, number_};
  return {number_ == 0 ? Phase::head : Phase::idle, number_};
}

}  // namespace

std::unique_ptr<Protocol> make_http1(const Protocol::Limits& limits, Protocol::Dispatch dispatch) {
  return std::make_unique<Http1>(limits, std::move(dispatch));
}

std::string_view ServedRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return value;
  }
  return {};
}

}  // namespace tacho
