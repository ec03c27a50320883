// A compressed copy, in memory, of the rows in segments that are not sent yet, for the case that their disk vanishes
// during an hour without BigQuery. Bounded: beyond its limit the oldest rows are dropped, and only the disk has them.
// Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace tacho {

class PackedRows {
 public:
  // An hour of rows a second needs about half of this.
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  explicit PackedRows(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // The records of a segment; numbers rise.
  void add(uint32_t segment, std::string_view records);
  void forget(uint32_t segment);
  // Drops the oldest segments that are sent, up to the first that is not.
  void forget_oldest(const std::function<bool(uint32_t segment)>& is_sent);
  void forget_all(const std::function<bool(uint32_t segment)>& is_sent);
  // Hands out the records segment by segment, oldest first; empty afterwards.
  void take(const std::function<void(std::string_view records)>& take_one);

  bool is_empty() const { return segments_.empty(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Segment {
    uint32_t number;
    std::string packed;
  };
  void let_go(size_t index);

  size_t max_bytes_, bytes_ = 0;
  std::deque<Segment> segments_;
};

}  // namespace tacho
