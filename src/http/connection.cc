#include "http/connection.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kLinger_ms = 2'000;  // a peer that still sends gets this long to read our last words
constexpr size_t kPerStep = 1u << 20;  // then other connections have their turn

}  // namespace

Connection::Connection(Fd fd, SSL_CTX* context, const Rules& rules, Protocol::Dispatch dispatch,
                       std::function<void()> wake, int64_t now_ns)
    : transport_(std::move(fd), context),
      rules_(rules),
      dispatch_(std::move(dispatch)),
      wake_(std::move(wake)),
      progress_since_ns_(now_ns) {
  deadline_ns_ = now_ns + rules_.head_ms * kNsPerMs;
}

bool Connection::shake_hands() {
  const Transport::State state = transport_.handshake();
  wants_write_ = state == Transport::State::wants_write;
  if (state == Transport::State::closed) closed_ = true;
  if (state != Transport::State::done) return false;
  stage_ = Stage::open;
  protocol_ = make_http1(
      {rules_.body_limit, rules_.budget, transport_.has_client_certificate(), rules_.last_answers, wake_}, dispatch_);
  return true;
}

bool Connection::take_input() {
  // One buffer a thread: an idle connection holds none.
  static thread_local char buffer[16 << 10];
  size_t total = 0;
  while (!closed_ && reads()) {
    if (total >= kPerStep) return true;
    size_t got = 0;
    switch (transport_.read(buffer, sizeof buffer, got)) {
      case Transport::State::done: break;
      case Transport::State::wants_write: wants_write_ = true; return false;
      case Transport::State::wants_read: return false;
      case Transport::State::closed: input_ended_ = true; return false;  // the peer may still listen
    }
    total += got;
    if (stage_ == Stage::open && !protocol_->receive({buffer, got})) failed_ = true;
  }
  return false;
}

void Connection::send_output(int64_t now_ns) {
  while (!closed_) {
    if (sent_ == output_.size()) {
      output_.clear();
      sent_ = 0;
      protocol_->collect(output_);
      if (output_.empty() && !failed_ && !protocol_->finished()) {
        if (!protocol_->proceed()) failed_ = true;
        protocol_->collect(output_);
      }
      if (output_.empty()) break;
      write_begin_ns_ = write_since_ns_ = now_ns;
    }
    size_t sent = 0;
    const Transport::State state = transport_.write(std::string_view(output_).substr(sent_), sent);
    sent_ += sent;
    if (sent > 0) write_since_ns_ = now_ns;
    if (state == Transport::State::closed) closed_ = true;
    if (state == Transport::State::wants_write) wants_write_ = true;
    if (state != Transport::State::done) return;
  }
  if (sent_ == output_.size() && output_.capacity() > 1024) std::string().swap(output_), sent_ = 0;
  if (closed_ || (!failed_ && !protocol_->finished())) return;
  transport_.end_sending();
  // Closing on bytes that nobody has read resets the connection, and our last words would be lost with it.
  if (!failed_) {
    closed_ = true;
    return;
  }
  stage_ = Stage::lingering;
  linger_since_ns_ = now_ns;
}

void Connection::set_deadline(int64_t now_ns) {
  if (stage_ == Stage::handshake) return;
  if (stage_ == Stage::lingering) {
    deadline_ns_ = linger_since_ns_ + kLinger_ms * kNsPerMs;
    return;
  }
  const Protocol::Progress now = protocol_->progress();
  if (now != progress_) {
    progress_ = now;
    progress_since_ns_ = now_ns;
  }
  int64_t limit = kNever;
  switch (progress_.phase) {
    case Protocol::Phase::head: limit = rules_.head_ms; break;
    case Protocol::Phase::body: limit = rules_.body_ms; break;
    case Protocol::Phase::idle: limit = rules_.idle_ms; break;
    case Protocol::Phase::busy: break;
  }
  deadline_ns_ = limit == kNever ? kNever : progress_since_ns_ + limit * kNsPerMs;
  // A peer that reads nothing for a while, or all too little.
  if (sent_ < output_.size())
    deadline_ns_ = std::min(
        {deadline_ns_, write_since_ns_ + rules_.body_ms * kNsPerMs, write_begin_ns_ + 4 * rules_.body_ms * kNsPerMs});
}

int64_t Connection::waits_since_ns() const {
  if (stage_ == Stage::lingering) return linger_since_ns_;
  if (stage_ == Stage::open && protocol_->progress().phase == Protocol::Phase::busy) return kNever;
  if (stage_ == Stage::open && sent_ < output_.size()) return write_since_ns_;
  return progress_since_ns_;
}

bool Connection::reads() const {
  if (input_ended_) return false;
  return stage_ == Stage::lingering || (!failed_ && protocol_->wants_input() && sent_ == output_.size());
}

Connection::Wish Connection::step(int64_t now_ns) {
  Wish wish;
  if (now_ns >= deadline_ns_) return wish.close = true, wish;
  wants_write_ = false;
  if (stage_ == Stage::handshake && !shake_hands()) {
    wish.close = closed_;
    wish.write = wants_write_;
    wish.read = !wants_write_;
    wish.deadline_ns = deadline_ns_;
    return wish;
  }
  wish.again = take_input();
  // Only now: what had arrived when the end was announced is still answered, half a record of it too.
  if (draining_ && stage_ == Stage::open && !wish.again && !transport_.has_begun()) protocol_->drain();
  if (stage_ == Stage::open && !closed_) send_output(now_ns);
  if (reads() && transport_.has_pending()) wish.again = true;  // bytes that the kernel does not know of
  set_deadline(now_ns);
  const bool all_sent = stage_ == Stage::lingering || sent_ == output_.size();
  const bool busy = stage_ == Stage::open && protocol_->progress().phase == Protocol::Phase::busy;
  wish.close = closed_ || (input_ended_ && all_sent && !busy);
  wish.read = reads();
  wish.write = wants_write_ || !all_sent;
  wish.deadline_ns = deadline_ns_;
  return wish;
}

void Connection::respond(uint64_t number, ServedResponse&& response) {
  if (protocol_) protocol_->respond(number, std::move(response));
}

}  // namespace tacho
