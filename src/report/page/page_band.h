// What each stretch of a run was about, as a band above the charts: rows with a word each, folded in constant memory
// into at most `capacity` stretches, each called by the word that had most of its time. Not thread-safe; no allocation
// but for new words.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

class PageBand {
 public:
  static constexpr size_t kWords = 16, kNone = kWords;

  void begin(size_t capacity);
  void add(std::string_view word, double seconds);  // an empty word: not known

  bool is_empty() const { return words_.empty(); }
  const std::vector<std::string>& words() const { return words_; }
  size_t points() const { return points_.size(); }
  double end_s(size_t point) const { return points_[point].end_s; }
  size_t word(size_t point) const;  // of words(); kNone: not known

 private:
  struct Point {
    double end_s = 0;
    std::array<float, kWords> seconds{};
  };
  void merge_pairs();

  std::vector<std::string> words_;
  std::vector<Point> points_;
  size_t capacity_ = 0;
  int64_t rows_per_point_ = 1, rows_in_last_ = 0;
  double elapsed_s_ = 0;
};

}  // namespace tacho
