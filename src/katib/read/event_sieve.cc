#include "katib/read/event_sieve.h"

#include <algorithm>
#include <utility>

#include "base/varint.h"

namespace tacho {
namespace {

constexpr uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
// Event: 5 summary; Summary: 1 value
constexpr uint64_t kSummaryKey = 5 << 3 | kBytes, kValueKey = 1 << 3 | kBytes;

void put_bytes(std::string& out, uint64_t key, std::string_view bytes) {
  put_varint(out, key);
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

void EventSieve::start(uint64_t size, uint64_t skip) {
  *this = {};
  skip_ = skip;
  ends_[kEvent] = size;
}

// Fields of the Event and of a Value are kept; a Summary has nothing but values.
std::string* EventSieve::kept() { return depth_ == kEvent ? &event_ : depth_ == kValue ? &value_ : nullptr; }

void EventSieve::leave_ended() {
  for (; depth_ > kEvent && expects_ == Expects::key && shift_ == 0 && at_ == ends_[depth_]; --depth_) {
    if (depth_ != kValue) continue;
    if (values_++ < skip_) continue;
    overflowed_ = overflowed_ || (kept_values_ > 0 && summary_.size() + value_.size() > kMostBytes);
    if (overflowed_) continue;
    put_bytes(summary_, kValueKey, value_);
    ++kept_values_;
  }
}

void EventSieve::add(std::string_view piece) {
  while (!piece.empty() && !broken_) {
    leave_ended();
    if (expects_ != Expects::bytes) {
      ++at_;
      take_byte(static_cast<unsigned char>(piece[0]));
      piece.remove_prefix(1);
      continue;
    }
    const size_t size = static_cast<size_t>(std::min<uint64_t>(left_, piece.size()));
    if (keeps_) kept()->append(piece.substr(0, size));
    piece.remove_prefix(size);
    at_ += size;
    left_ -= size;
    if (left_ == 0) expects_ = Expects::key;
  }
  leave_ended();
}

void EventSieve::take_byte(unsigned char byte) {
  broken_ = broken_ || at_ > ends_[depth_] || shift_ >= 64;
  if (broken_) return;
  number_ |= static_cast<uint64_t>(byte & 0x7f) << shift_;
  shift_ += 7;
  if (byte >= 0x80) return;
  shift_ = 0;
  const uint64_t value = std::exchange(number_, 0);
  switch (expects_) {
    case Expects::bytes: break;
    case Expects::key:
      key_ = value;
      begin_field();
      break;
    case Expects::varint:
      expects_ = Expects::key;
      if (keeps_) put_varint(*kept(), value);
      break;
    case Expects::length: begin_bytes(value); break;
  }
}

void EventSieve::begin_field() {
  const uint64_t type = key_ & 7;
  broken_ =
      key_ >> 3 == 0 || key_ >> 32 != 0 || (type != kVarint && type != kFixed64 && type != kBytes && type != kFixed32);
  std::string* out = kept();
  keeps_ = out != nullptr && out->size() < 2 * kLargestField;
  if (type == kBytes) {
    expects_ = Expects::length;
    return;
  }
  if (keeps_) put_varint(*out, key_);
  if (type == kVarint) {
    expects_ = Expects::varint;
    return;
  }
  expects_ = Expects::bytes;
  left_ = type == kFixed64 ? 8 : 4;
  broken_ = broken_ || left_ > ends_[depth_] - at_;
}

void EventSieve::begin_bytes(uint64_t size) {
  broken_ = size > ends_[depth_] - at_;
  if (broken_) return;
  expects_ = Expects::key;
  if ((depth_ == kEvent && key_ == kSummaryKey) || (depth_ == kSummary && key_ == kValueKey)) {
    ends_[++depth_] = at_ + size;
    value_.clear();
    return;
  }
  keeps_ = keeps_ && size <= kLargestField;
  if (keeps_) {
    put_varint(*kept(), key_);
    put_varint(*kept(), size);
  }
  left_ = size;
  if (size > 0) expects_ = Expects::bytes;
}

bool EventSieve::finish(std::string_view& payload) {
  leave_ended();
  if (broken_ || depth_ != kEvent || expects_ != Expects::key || shift_ != 0 || at_ != ends_[kEvent]) return false;
  if (!summary_.empty()) put_bytes(event_, kSummaryKey, std::exchange(summary_, {}));
  payload = event_;
  return true;
}

}  // namespace tacho
