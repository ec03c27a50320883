#include "report/page/page_rows.h"

#include <utility>

namespace tacho {
namespace {

// Most rows compress to a third; what does not is thinned out once more.
constexpr size_t kBytesToOne = 3;

}  // namespace

PageRows::PageRows(size_t whole, size_t part) : part_(part), whole_gzip_(whole) {}

void PageRows::take(std::string_view bytes) {
  if (header_.find('\n') == std::string::npos && header_.size() < part_)
    header_ += bytes.substr(0, bytes.find('\n') == std::string_view::npos ? bytes.size() : bytes.find('\n') + 1);
  small_ = small_ && whole_gzip_.put(bytes);
}

void PageRows::add(std::string_view line) {
  if (rows_++ % stride_ != 0) return;
  lines_.emplace_back(line);
  line_bytes_ += line.size() + 1;
  if (line_bytes_ > part_ * kBytesToOne && lines_.size() > 2) thin_out();
}

void PageRows::thin_out() {
  stride_ *= 2;
  line_bytes_ = 0;
  for (size_t i = 0; 2 * i < lines_.size(); ++i) {
    if (i > 0) lines_[i] = std::move(lines_[2 * i]);
    line_bytes_ += lines_[i].size() + 1;
  }
  lines_.resize((lines_.size() + 1) / 2);
}

void PageRows::finish(bool complete) {
  if (small_ && complete) gzip_ = whole_gzip_.finish();
  whole_ = !gzip_.empty();
  while (gzip_.empty()) {
    SmallGzip gzip(part_);
    gzip.put(header_);
    for (const std::string& line : lines_) gzip.put(line + "\n");
    gzip_ = gzip.finish();
    if (!gzip_.empty()) return;
    if (lines_.size() <= 1) return lines_.clear();  // not even one row is small enough
    thin_out();
  }
}

}  // namespace tacho
