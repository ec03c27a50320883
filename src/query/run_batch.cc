#include "query/run_batch.h"

#include <algorithm>

namespace tacho {
namespace {

constexpr size_t kBlock = 32 * 1024;

}  // namespace

void RunBatch::put(size_t table, const std::vector<Cell>& cells) {
  rows_.push_back({table, cells_.size(), cells.size()});
  ++parts_.back().count;
  for (const Cell& cell : cells) {
    const auto* text = std::get_if<std::string_view>(&cell);
    cells_.push_back(text != nullptr ? Cell{kept(*text)} : cell);
  }
}

std::string_view RunBatch::kept(std::string_view text) {
  if (left_ < text.size() || room_ == nullptr) {
    left_ = std::max(kBlock, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    room_ = blocks_.back().get();
  }
  char* const to = room_;
  std::copy(text.begin(), text.end(), to);
  room_ += text.size();
  left_ -= text.size();
  return {to, text.size()};
}

}  // namespace tacho
