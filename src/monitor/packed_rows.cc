#include "monitor/packed_rows.h"

#include <algorithm>

#include "codec/gunzip.h"
#include "codec/gzip.h"

namespace tacho {
namespace {

// Empty when memory is short.
std::string pack(std::string_view text) {
  GzipEncoder gzip;
  std::string packed;
  if (!gzip.open()) return packed;
  const auto drain = [&] {
    packed += gzip.pending();
    gzip.sent(gzip.pending().size());
  };
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), GzipEncoder::kFlushBytes))) {
    if (!gzip.put(text.substr(0, GzipEncoder::kFlushBytes)) || !gzip.flush()) return {};
    drain();
  }
  if (!gzip.finish()) return {};
  drain();
  packed.shrink_to_fit();
  return packed;
}

}  // namespace

void PackedRows::add(uint32_t segment, std::string_view records) {
  std::string packed = pack(records);
  if (packed.empty()) return;
  bytes_ += packed.size();
  segments_.push_back({segment, std::move(packed)});
  while (bytes_ > max_bytes_) let_go(0);
}

void PackedRows::let_go(size_t index) {
  bytes_ -= segments_[index].packed.size();
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(index));
}

void PackedRows::forget(uint32_t segment) {
  forget_all([segment](uint32_t number) { return number == segment; });
}

void PackedRows::forget_oldest(const std::function<bool(uint32_t segment)>& is_sent) {
  while (!segments_.empty() && is_sent(segments_.front().number)) let_go(0);
}

void PackedRows::forget_all(const std::function<bool(uint32_t segment)>& is_sent) {
  for (size_t i = segments_.size(); i-- > 0;)
    if (is_sent(segments_[i].number)) let_go(i);
}

void PackedRows::take(const std::function<void(std::string_view records)>& take_one) {
  for (; !segments_.empty(); let_go(0)) {
    std::string records;
    GzipDecoder().decode(segments_.front().packed, records);
    take_one(records);
  }
}

}  // namespace tacho
