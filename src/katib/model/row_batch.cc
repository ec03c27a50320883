#include "katib/model/row_batch.h"

#include <algorithm>
#include <numeric>

#include "base/short_text.h"

namespace tacho {

RowBatch::RowBatch(const std::vector<MetricRow>& rows) {
  reserve(rows.size());
  for (const MetricRow& row : rows) add(row);
}

// A few names, again and again, and mostly in the same order.
uint32_t RowBatch::take_name(std::string_view name) {
  uint32_t number = last_name_ + 1 < names_.size() ? last_name_ + 1 : 0;
  if (names_.empty() || !same_text(names_[number], name)) {
    number = static_cast<uint32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    if (number == names_.size()) names_.emplace_back(name), rows_of_name_.push_back(0);
  }
  ++rows_of_name_[number];
  return last_name_ = number;
}

char* RowBatch::make_room(size_t bytes) {
  if (text_room_ - text_size_ < bytes) {
    const size_t room = std::max(2 * text_room_, text_size_ + bytes);
    auto larger = std::make_unique_for_overwrite<char[]>(room);
    std::copy_n(text_.get(), text_size_, larger.get());
    text_ = std::move(larger);
    text_room_ = room;
  }
  return text_.get() + text_size_;
}

// Rows of one line have one time, and stand together.
RowBatch::Entry RowBatch::put(const RowView& row) {
  constexpr size_t kMostBefore = size_t{1} << 30;
  const std::string_view time = row.time_stamp;
  char* at = make_room(time.size() + row.value.size());
  size_t time_at = text_size_;
  if (!entries_.empty() && entries_.back().us == row.us.value_or(kNoTime)) {
    const Entry& last = entries_.back();
    const size_t last_at = last.at - last.time_before;
    if (text_size_ - last_at < kMostBefore && same_text({text_.get() + last_at, last.time_size}, time))
      time_at = last_at;
  }
  if (time_at == text_size_) at = copy_text(at, time);
  const auto value_at = static_cast<size_t>(at - text_.get());
  text_size_ = static_cast<size_t>(copy_text(at, row.value) - text_.get());
  return {.us = row.us.value_or(kNoTime),
          .at = value_at,
          .time_before = static_cast<uint32_t>(value_at - time_at),
          .time_size = static_cast<uint32_t>(time.size()),
          .value_size = static_cast<uint32_t>(row.value.size()),
          .name = take_name(row.name)};
}

void RowBatch::set_steps(size_t number, const Steps& steps) {
  if (steps_.empty() && steps == Steps{}) return;
  steps_.resize(entries_.size());
  steps_[number] = steps;
}

void RowBatch::add(const RowView& row) {
  entries_.push_back(put(row));
  set_steps(entries_.size() - 1, {row.step, row.epoch});
}

void RowBatch::replace(size_t number, const RowView& row) {
  --rows_of_name_[entries_[number].name];
  entries_[number] = put(row);
  set_steps(number, {row.step, row.epoch});
}

void RowBatch::set_time(size_t number, const TimeStamp& time) {
  MetricRow row = (*this)[number];
  row.time_stamp = time;
  replace(number, row);
}

void RowBatch::sort_by_step(size_t first, size_t end) {
  std::vector<size_t> order(end - first);
  std::iota(order.begin(), order.end(), first);
  const auto earlier = [&](size_t a, size_t b) { return steps_[a].step < steps_[b].step; };
  if (std::is_sorted(order.begin(), order.end(), earlier)) return;
  std::stable_sort(order.begin(), order.end(), earlier);
  const auto arrange = [&](auto& of) {
    std::remove_reference_t<decltype(of)> arranged;
    for (const size_t number : order) arranged.push_back(of[number]);
    std::copy(arranged.begin(), arranged.end(), of.begin() + static_cast<ptrdiff_t>(first));
  };
  arrange(entries_);
  arrange(steps_);
}

std::vector<MetricRow> RowPart::copies() const {
  std::vector<MetricRow> out;
  out.reserve(count_);
  for (size_t number = 0; number < count_; ++number) out.push_back((*this)[number]);
  return out;
}

}  // namespace tacho
