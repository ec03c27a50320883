#include "report/page/page_marks.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/page_text.h"

namespace tacho {
namespace {

constexpr size_t kMostShown = 400, kLongestName = 80;

double length_of(const PagePhase& phase) {
  const double length = phase.ended - phase.started;
  return std::isfinite(length) ? length : 0;
}

// The longest phases, which are those that can be seen, in their order.
void keep_longest(std::vector<PagePhase>& phases) {
  if (phases.size() <= kMostShown) return;
  std::vector<double> lengths;
  for (const PagePhase& phase : phases) lengths.push_back(length_of(phase));
  const auto last = lengths.begin() + kMostShown - 1;
  std::nth_element(lengths.begin(), last, lengths.end(), std::greater<>());
  const double least = *last;
  const auto longer = [&](const PagePhase& phase) { return length_of(phase) > least; };
  auto equals = kMostShown - static_cast<size_t>(std::count_if(phases.begin(), phases.end(), longer));
  std::erase_if(phases, [&](const PagePhase& phase) {
    if (longer(phase)) return false;
    const bool kept = equals > 0 && length_of(phase) == least;
    equals -= kept ? 1 : 0;
    return !kept;
  });
}

// Of so many as many as there is room for, at even distances.
void keep_some(std::vector<PagePoint>& points) {
  if (points.size() <= kMostShown) return;
  for (size_t i = 1; i < kMostShown; ++i) points[i] = points[i * points.size() / kMostShown];
  points.resize(kMostShown);
}

}  // namespace

PageMarks page_marks(const Run& run, const Marks& marks, const std::vector<PhaseVerdict>& verdicts) {
  PageMarks page;
  for (size_t i = 0; i < run.phases.size(); ++i) {
    const Phase& phase = run.phases[i];
    PagePhase shown{page_text(phase.name, kLongestName),
                    phase.started_s,
                    phase.ended_s,
                    phase.cpu_mean,
                    phase.memory_peak_mib,
                    phase.disk_read_bytes,
                    phase.disk_write_bytes,
                    {}};
    if (i < verdicts.size() && verdicts[i].judgement.verdict != "unknown")
      shown.verdict = verdict_words(verdicts[i].judgement);
    page.phases.push_back(std::move(shown));
  }
  for (const Mark& mark : marks.marks)
    if (mark.event == MarkEvent::point) page.points.push_back({page_text(mark.name, kLongestName), mark.time_s});
  const size_t all = page.phases.size() + page.points.size();
  keep_longest(page.phases);
  keep_some(page.points);
  page.left_out = static_cast<int64_t>(all - page.phases.size() - page.points.size());
  return page;
}

void write_page_marks(JsonWriter& json, const PageMarks& marks, double start_s) {
  json.key("phases").array();
  for (const PagePhase& phase : marks.phases) {
    json.array().value(phase.name);
    json.number(phase.started - start_s, 3).number(phase.ended - start_s, 3).value(phase.verdict).end_array();
  }
  json.end_array();
  json.key("points").array();
  for (const PagePoint& point : marks.points) json.array().value(point.name).number(point.at - start_s, 3).end_array();
  json.end_array();
}

}  // namespace tacho
