#include "report/page/page_band.h"

#include <algorithm>

namespace tacho {

void PageBand::begin(size_t capacity) {
  *this = {};
  capacity_ = std::max<size_t>(2, capacity / 2 * 2);
  points_.reserve(capacity_);
}

void PageBand::add(std::string_view word, double seconds) {
  elapsed_s_ += seconds;
  if (points_.empty() || rows_in_last_ == rows_per_point_) {
    if (points_.size() == capacity_) merge_pairs();
    points_.emplace_back();
    rows_in_last_ = 0;
  }
  ++rows_in_last_;
  points_.back().end_s = elapsed_s_;
  if (word.empty()) return;
  auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end()) {
    if (words_.size() == kWords) return;
    found = words_.insert(found, std::string(word));
  }
  points_.back().seconds[static_cast<size_t>(found - words_.begin())] += static_cast<float>(seconds);
}

void PageBand::merge_pairs() {
  for (size_t i = 0; i < points_.size() / 2; ++i) {
    Point merged = points_[2 * i];
    const Point& second = points_[2 * i + 1];
    merged.end_s = second.end_s;
    for (size_t word = 0; word < kWords; ++word) merged.seconds[word] += second.seconds[word];
    points_[i] = merged;
  }
  points_.resize(points_.size() / 2);
  rows_per_point_ *= 2;
}

size_t PageBand::word(size_t point) const {
  const auto& seconds = points_[point].seconds;
  const auto most = std::max_element(seconds.begin(), seconds.end());
  return *most > 0 ? static_cast<size_t>(most - seconds.begin()) : kNone;
}

}  // namespace tacho
