// What is stored of one metric, as a few sums: rows are added in any order, and two collections can be compared without
// keeping either. Rows fall into buckets by their hash, so that a row of somebody else spoils the comparison of its own
// bucket only. Times count in whole microseconds, as every store keeps them. Plain data; not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

class RowDigest {
 public:
  static constexpr size_t kBuckets = 32;

  void add(int64_t time_us, std::string_view value);
  int64_t rows() const { return rows_; }
  // Later than any row that was added: such a row cannot be among them.
  bool is_older_than(int64_t time_us) const { return rows_ == 0 || time_us > newest_us_; }
  uint64_t bucket(size_t number) const { return sums_[number]; }

  // For the state file.
  std::string text() const;
  static std::optional<RowDigest> parse(std::string_view text);

 private:
  std::array<uint64_t, kBuckets> sums_{};
  int64_t rows_ = 0, newest_us_ = 0;
};

}  // namespace tacho
