#include "report/page/page_marks.h"

#include "base/page_text.h"

namespace tacho {
namespace {

constexpr size_t kMostShown = 400, kLongestName = 80;

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
  const auto shorten = [&](auto& list) {
    if (list.size() <= kMostShown) return;
    page.left_out += static_cast<int64_t>(list.size() - kMostShown);
    list.resize(kMostShown);
  };
  shorten(page.phases);
  shorten(page.points);
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
