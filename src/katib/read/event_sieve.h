// A large record of an event file (images, histograms, a graph, and perhaps scalars among them) in pieces, of which
// only the small fields are kept: what is left is an Event again, with all scalars of its summary, whatever the
// record's size. Pure; not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tacho {

class EventSieve {
 public:
  static constexpr uint64_t kLargestField = 4096;        // a tag, a scalar tensor
  static constexpr size_t kMostBytes = size_t{1} << 19;  // of what is kept; values beyond it are for another turn

  // `size`: of the whole payload; the first `skip` values are left out.
  void start(uint64_t size, uint64_t skip = 0);
  void add(std::string_view piece);
  // After all of it: the bytes of the smaller Event, good until the next start(). False when the payload is none.
  bool finish(std::string_view& payload);
  bool overflowed() const { return overflowed_; }
  uint64_t end_value() const { return skip_ + kept_values_; }  // number of the first that was not kept

 private:
  enum class Expects { key, varint, length, bytes };
  enum Depth : size_t { kEvent, kSummary, kValue };

  void take_byte(unsigned char byte);
  void begin_field();
  void begin_bytes(uint64_t size);
  void leave_ended();
  std::string* kept();

  Expects expects_ = Expects::key;
  bool broken_ = false, overflowed_ = false;
  uint64_t at_ = 0;
  std::array<uint64_t, 3> ends_{};  // of the messages that are open, as offsets
  size_t depth_ = kEvent;
  uint64_t key_ = 0, number_ = 0;  // of the field; the varint so far
  unsigned shift_ = 0;
  uint64_t left_ = 0;   // bytes of the field
  bool keeps_ = false;  // this field
  std::string event_, summary_, value_;
  uint64_t skip_ = 0, values_ = 0, kept_values_ = 0;
};

}  // namespace tacho
