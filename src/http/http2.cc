// HTTP/2 on nghttp2: many requests at a time over one connection, as Kubernetes' API server sends them.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "http/protocol.h"

namespace tacho {
namespace {

constexpr uint32_t kStreams = 250;
constexpr int32_t kConnectionWindow = 8 << 20;
constexpr size_t kOutputAtOnce = 256u << 10;

struct Stream {
  ServedRequest request;
  size_t head_bytes = 0;
  size_t charged = 0;
  bool received = false;  // END_STREAM has come
  bool answered = false;
  bool head_only = false;  // a HEAD request: an answer without body
  std::string body;        // of the answer
  size_t sent = 0;
};

class Http2 final : public Protocol {
 public:
  Http2(const Limits& limits, Dispatch dispatch);
  ~Http2() override;

  bool receive(std::string_view bytes) override;
  void respond(uint64_t stream, ServedResponse&& response) override;
  void collect(std::string& out) override;
  bool wants_input() const override { return nghttp2_session_want_read(session_) != 0; }
  bool finished() const override { return ended_ || (leaving_ && streams_.empty()); }
  void drain() override;
  Progress progress() const override;

 private:
  static Http2& self(void* user) { return *static_cast<Http2*>(user); }
  static nghttp2_session_callbacks* make_callbacks();
  Stream* find(int32_t id);
  int on_header(int32_t id, std::string_view name, std::string_view value);
  int on_data(int32_t id, std::string_view part);
  void on_frame(const nghttp2_frame& frame);
  void on_close(int32_t id);
  void refuse(int32_t id, Stream& stream, int status);
  void release(Stream& stream);

  Limits limits_;
  Dispatch dispatch_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Stream> streams_;  // ordered: the first one that is incomplete is the oldest
  bool ended_ = false, draining_ = false, leaving_ = false, seen_any_ = false;
  uint64_t finished_count_ = 0;
};

nghttp2_session_callbacks* Http2::make_callbacks() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
          self(user).streams_[frame->hd.stream_id].request.has_client_certificate =
              self(user).limits_.has_client_certificate;
          self(user).seen_any_ = true;
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                    const uint8_t* value, size_t value_size, uint8_t, void* user) {
        return self(user).on_header(frame->hd.stream_id, {reinterpret_cast<const char*>(name), name_size},
                                    {reinterpret_cast<const char*>(value), value_size});
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* user) {
        return self(user).on_data(id, {reinterpret_cast<const char*>(data), size});
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
                                                       [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
                                                         self(user).on_frame(*frame);
                                                         return 0;
                                                       });
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
                                                         [](nghttp2_session*, int32_t id, uint32_t, void* user) {
                                                           self(user).on_close(id);
                                                           return 0;
                                                         });
  return callbacks;
}

Http2::Http2(const Limits& limits, Dispatch dispatch) : limits_(limits), dispatch_(std::move(dispatch)) {
  static nghttp2_session_callbacks* const kCallbacks = make_callbacks();
  nghttp2_session_server_new(&session_, kCallbacks, this);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kStreams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1u << 20},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(kHeadLimit)},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2::~Http2() {
  for (auto& [id, stream] : streams_) release(stream);
  nghttp2_session_del(session_);
}

Stream* Http2::find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

void Http2::release(Stream& stream) {
  limits_.budget->give(stream.charged);
  stream.charged = 0;
}

int Http2::on_header(int32_t id, std::string_view name, std::string_view value) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->answered) return 0;
  stream->head_bytes += name.size() + value.size() + 32;
  if (stream->head_bytes > kHeadLimit) return refuse(id, *stream, 431), 0;
  if (name == ":method") {
    stream->request.method = value;
    stream->head_only = value == "HEAD";
  }
  if (name == ":path") split_target(value, stream->request);
  else if (name == ":authority") stream->request.headers.emplace_back("host", value);
  else if (!name.empty() && name[0] != ':') stream->request.headers.emplace_back(name, value);
  if (name == "content-length" && parse_int<uint64_t>(value).value_or(0) > limits_.body_limit) refuse(id, *stream, 413);
  return 0;
}

int Http2::on_data(int32_t id, std::string_view part) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->answered) return 0;
  if (stream->request.body.size() + part.size() > limits_.body_limit) return refuse(id, *stream, 413), 0;
  if (!limits_.budget->take(part.size())) return refuse(id, *stream, 503), 0;
  stream->charged += part.size();
  stream->request.body += part;
  return 0;
}

void Http2::on_frame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) leaving_ = true;
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  Stream* stream = find(frame.hd.stream_id);
  if (stream == nullptr || stream->received) return;
  stream->received = true;
  release(*stream);
  if (stream->answered) return;
  ServedRequest request = std::move(stream->request);
  dispatch_(static_cast<uint64_t>(frame.hd.stream_id), std::move(request));
}

void Http2::on_close(int32_t id) {
  if (Stream* stream = find(id); stream != nullptr) release(*stream);
  streams_.erase(id);
  finished_count_++;
}

void Http2::refuse(int32_t id, Stream& stream, int status) {
  tell_refused(status, limits_);
  release(stream);
  stream.request = ServedRequest{};
  ServedResponse response;
  response.status = status;
  respond(static_cast<uint64_t>(id), std::move(response));
}

void Http2::respond(uint64_t id, ServedResponse&& response) {
  Stream* stream = find(static_cast<int32_t>(id));
  if (stream == nullptr || stream->answered) return;  // the client has given up meanwhile
  stream->answered = true;
  stream->body = std::move(response.body);
  const std::string status = std::to_string(response.status), length = std::to_string(stream->body.size());
  std::vector<std::string> names;
  names.reserve(response.headers.size());
  std::vector<nghttp2_nv> fields;
  const auto add = [&](std::string_view name, std::string_view value) {
    // nghttp2 copies both; its structure has no const.
    fields.push_back({const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(name.data())),
                      const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(value.data())), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
  };
  add(":status", status);
  add("content-type", response.content_type);
  add("content-length", length);
  for (const auto& [name, value] : response.headers) add(names.emplace_back(lower(name)), value);
  nghttp2_data_provider source{};
  source.source.ptr = this;
  source.read_callback = [](nghttp2_session*, int32_t stream_id, uint8_t* to, size_t room, uint32_t* flags,
                            nghttp2_data_source* from, void*) -> ssize_t {
    Stream* sending = static_cast<Http2*>(from->ptr)->find(stream_id);
    if (sending == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t part = std::min(room, sending->body.size() - sending->sent);
    std::copy_n(sending->body.data() + sending->sent, part, reinterpret_cast<char*>(to));
    sending->sent += part;
    if (sending->sent == sending->body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  };
  nghttp2_submit_response(session_, static_cast<int32_t>(id), fields.data(), fields.size(),
                          stream->body.empty() || stream->head_only ? nullptr : &source);
}

bool Http2::receive(std::string_view bytes) {
  const ssize_t used = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (used >= 0) return true;
  nghttp2_session_terminate_session(session_, NGHTTP2_PROTOCOL_ERROR);
  ended_ = true;
  return false;
}

void Http2::collect(std::string& out) {
  while (out.size() < kOutputAtOnce) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  if (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0) ended_ = true;
}

void Http2::drain() {
  // First only a notice, so that requests which are already on their way are still taken; the next call draws the line.
  if (!draining_) {
    draining_ = true;
    nghttp2_submit_shutdown_notice(session_);
    return;
  }
  if (leaving_) return;
  leaving_ = true;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

Protocol::Progress Http2::progress() const {
  for (const auto& [id, stream] : streams_) {
    if (!stream.received) return {Phase::body, static_cast<uint64_t>(id)};
  }
  if (!streams_.empty()) return {Phase::busy, finished_count_};
  return {seen_any_ ? Phase::idle : Phase::head, finished_count_};
}

}  // namespace

std::unique_ptr<Protocol> make_http2(const Protocol::Limits& limits, Protocol::Dispatch dispatch) {
  return std::make_unique<Http2>(limits, std::move(dispatch));
}

}  // namespace tacho
