#include "deliver/metric_fold.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "net/metrics/remote_write.h"

namespace tacho {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<double> cells_of(std::string_view line) {
  std::vector<double> cells;
  for (const std::string_view cell : split(line, ',')) cells.push_back(parse_double(cell).value_or(kUnknown));
  return cells;
}

}  // namespace

MetricFold::MetricFold(std::vector<MetricSeries> series, std::string_view header, int64_t started_ms, bool from_start)
    : series_(std::move(series)), tracks_(series_.size()), started_ms_(started_ms), from_start_(from_start) {
  const std::vector<std::string_view> names = split(trim(header), ',');
  for (size_t i = 0; i < series_.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), series_[i].column);
    if (!series_[i].column.empty() && found != names.end())
      tracks_[i].cell = static_cast<size_t>(found - names.begin());
  }
}

void MetricFold::put(size_t index, int64_t time_ms, double value, std::vector<MetricPoint>& out) {
  out.push_back({static_cast<uint32_t>(index), time_ms, value});
  // The newest, should the clock have been set back: what ends a series comes behind all of it.
  tracks_[index].last_ms = std::max(tracks_[index].last_ms.value_or(time_ms), time_ms);
}

// Where the first row is not later than the start, its own points stand for both.
void MetricFold::begin(int64_t first_ms, const std::vector<double>& cells, std::vector<MetricPoint>& out) {
  if (began_) return;
  began_ = true;
  if (!from_start_ || started_ms_ <= 0 || first_ms <= started_ms_) return;
  for (size_t i = 0; i < series_.size(); ++i) {
    const auto cell = tracks_[i].cell;
    const bool has_cell = cell && *cell < cells.size() && std::isfinite(cells[*cell]);
    switch (series_[i].source) {
      case SeriesSource::constant: put(i, started_ms_, series_[i].constant, out); break;
      case SeriesSource::running: put(i, started_ms_, 1, out); break;
      case SeriesSource::counter:
        if (has_cell) put(i, started_ms_, 0, out);
        break;
      default: break;
    }
  }
}

std::optional<double> MetricFold::value_at(size_t index, int64_t time_ms, const std::vector<double>& cells,
                                           const MetricEnd* end) {
  const MetricSeries& series = series_[index];
  Track& track = tracks_[index];
  std::optional<double> cell;
  if (track.cell && *track.cell < cells.size() && std::isfinite(cells[*track.cell])) cell = cells[*track.cell];
  switch (series.source) {
    case SeriesSource::constant: return series.constant;
    case SeriesSource::counter:
      if (!cell) return std::nullopt;
      track.sum.add(*cell * series.factor);
      return track.sum.value();
    case SeriesSource::level: return cell ? std::optional(*cell * series.factor) : std::nullopt;
    case SeriesSource::peak:
      if (cell) track.value = std::max(track.value.value_or(0), *cell * series.factor);
      if (end != nullptr && end->memory_peak_bytes) return static_cast<double>(*end->memory_peak_bytes);
      return track.value;
    case SeriesSource::running: return end != nullptr ? 0 : 1;
    case SeriesSource::processes:
      if (end != nullptr) return 0;
      return cell ? std::optional(*cell + 1) : std::nullopt;
    case SeriesSource::update_time: return ms_as_seconds(time_ms);
    case SeriesSource::uptime:
      return started_ms_ > 0 ? std::optional(ms_as_seconds(std::max<int64_t>(0, time_ms - started_ms_))) : std::nullopt;
    case SeriesSource::exit_code:
      return end != nullptr && end->exit_code ? std::optional(static_cast<double>(*end->exit_code)) : std::nullopt;
    case SeriesSource::end_time:
      return end != nullptr && end->time_ms > 0 ? std::optional(ms_as_seconds(end->time_ms)) : std::nullopt;
  }
  return std::nullopt;
}

void MetricFold::row(std::string_view line, bool last_of_chunk, const MetricEnd* end, std::vector<MetricPoint>& out) {
  const std::vector<double> cells = cells_of(line);
  if (cells.empty() || !std::isfinite(cells[0]) || std::fabs(cells[0]) > 1e11) return;
  const int64_t time_ms = std::llround(cells[0] * 1e3);
  begin(time_ms, cells, out);
  for (size_t i = 0; i < series_.size(); ++i) {
    if (series_[i].source == SeriesSource::constant && !last_of_chunk) continue;
    if (const auto value = value_at(i, time_ms, cells, end)) put(i, time_ms, *value, out);
  }
}

void MetricFold::nothing(std::vector<MetricPoint>& out) {
  if (!began_) begin(std::numeric_limits<int64_t>::max(), {}, out);
}

void MetricFold::stale(std::vector<MetricPoint>& out) {
  for (size_t i = 0; i < series_.size(); ++i)
    if (const auto last_ms = tracks_[i].last_ms) put(i, *last_ms + 1, stale_marker(), out);
}

}  // namespace tacho
