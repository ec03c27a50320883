// run.json while the run goes on: what every row changes, in pages of its own.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/fixed_text.h"
#include "codec/run_json.h"
#include "codec/run_json_parts.h"

namespace tacho {
namespace {

// A live page is filled with spaces. What does not fit goes on in the next one.
class LivePages {
 public:
  explicit LivePages(Writer& out) : out_(out), begun_at_(out.view().size()) {}
  bool all_fit() const { return fit_; }
  // The next members go to a page of their own. `last`: none come, and the text ends with this page.
  void end_page(bool last) {
    const size_t used = out_.view().size() - begun_at_ + (last ? 1 : 0);
    const size_t beyond = used % kLivePageBytes;
    fit_ = fit_ && used <= kLivePageBytes;
    if (beyond != 0) out_.put_spaces(kLivePageBytes - beyond);
    if (last) out_.put('\n');
    begun_at_ = out_.view().size();
  }

 private:
  Writer& out_;
  size_t begun_at_;
  bool fit_ = true;
};

// What comes before the statistics hardly ever takes more of the first page.
constexpr size_t kMeasuredBytes = 1536;

// Room for `,"NAME":{"max":…,"mean":…,"sum":…}` with numbers of a usual length.
size_t room_for(const Column& column) { return column.name.size() + (column.rule == Rule::delta ? 63 : 44); }

// Text of one column, put together beside the writer: a thousand small pieces a tick would cost more than all numbers.
class BriefText {
 public:
  template <size_t kSize>
  void put(const char (&word)[kSize]) {
    std::memcpy(at_, word, kSize - 1);
    at_ += kSize - 1;
  }
  void put(std::string_view name) {
    const size_t size = std::min(name.size(), kLongestName);
    std::memcpy(at_, name.data(), size);
    at_ += size;
  }
  void put(double value, int decimals) { at_ = write_fixed(at_, value, decimals); }
  std::string_view view() const { return {text_, static_cast<size_t>(at_ - text_)}; }

 private:
  static constexpr size_t kLongestName = 256;
  char text_[3 * kLongestFixed + kLongestName + 64];
  char* at_ = text_;
};

// `,"NAME":{"max":2.00,"mean":1.50,"sum":3.00}`: no minima, no more than two decimals.
void write_brief(Writer& out, const Column& column, const Statistics& statistics) {
  const int decimals = std::min(2, column.decimals);
  BriefText text;
  text.put(",\"");
  text.put(column.name);
  text.put(R"(":{"max":)");
  text.put(statistics.max, decimals);
  const double mean = mean_between(statistics, decimals);
  if (std::isfinite(mean)) {
    text.put(R"(,"mean":)");
    text.put(mean, 2);
  }
  if (column.rule == Rule::delta && std::isfinite(statistics.sum)) {
    text.put(R"(,"sum":)");
    text.put(statistics.sum, decimals);
  }
  text.put("}");
  out.put(text.view());
}

// The statistics of the live pages, which are written at every tick and have to stay small.
void write_brief_statistics(Writer& out, LivePages& pages, const Run& run, const Summary& summary) {
  const Schema& schema = summary.schema();
  out.put(R"(,"statistics":{"timestamp":{"duration":)");
  out.put_fixed(summary.duration_s(), 3);
  out.put('}');
  size_t room = kMeasuredBytes;
  for (size_t i = 1; i < schema.size(); ++i) {
    const Column& column = schema[i];
    room += room_for(column);
    if (room > kLivePageBytes) {
      pages.end_page(false);
      room = room_for(column);
    }
    const Statistics statistics = summary.column(i);
    if (!std::isfinite(statistics.max) || is_hidden(run, column.name)) continue;
    write_brief(out, column, statistics);
  }
  out.put('}');
}

}  // namespace

double mean_between(const Statistics& statistics, int decimals) {
  static constexpr double kScales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
  const double scale = kScales[std::clamp(decimals, 0, 6)];
  double mean = statistics.mean;
  // Rounding moves an extreme by half a step at the most.
  const double step = 1 / scale;
  if (mean < statistics.min + step) mean = std::max(std::round(statistics.min * scale) / scale, mean);
  if (mean > statistics.max - step) mean = std::min(std::round(statistics.max * scale) / scale, mean);
  return mean;
}

bool write_live_pages(Writer& out, const Run& run, const Summary& summary) {
  LivePages pages(out);
  JsonWriter json(out);
  out.put(' ');  // in place of the bracket that the head has opened
  json.inside_object();
  write_run_measured(json, run, summary);
  write_brief_statistics(out, pages, run, summary);
  out.put('}');
  pages.end_page(true);
  return pages.all_fit();
}

size_t write_live_run_json(Writer& out, const Run& run, const Summary& summary) {
  JsonWriter json(out);
  json.object();
  write_run_identity(json, run, summary, &out);
  out.put(',');
  while (out.view().size() % kLivePageBytes != 0) out.put(' ');
  const size_t offset = out.view().size();
  write_live_pages(out, run, summary);
  return offset;
}

}  // namespace tacho
