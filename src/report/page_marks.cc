#include "report/page_marks.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/csv_fields.h"
#include "report/page_text.h"
#include "report/record_lines.h"

namespace tacho {
namespace {

constexpr size_t kMostMarks = 10'000, kMostShown = 400, kLongestName = 80;

struct MarkLine {
  double at;
  std::string event, name;
};

// At most as many as are used at all; out of order they are sorted, broken ones skipped.
std::vector<MarkLine> read_mark_lines(const std::string& path) {
  std::vector<MarkLine> marks;
  RecordLines records;
  std::string_view line;
  if (!records.open(path)) return marks;
  while (marks.size() < kMostMarks && records.next(line)) {
    std::array<std::string, 3> texts;
    std::string room;
    size_t count = 0;
    for (FieldSplitter fields(line); count < 3 && fields.next(); ++count) texts[count] = fields.text(room);
    const auto at = parse_double(texts[0]);
    const bool known = texts[1] == "phase" || texts[1] == "end" || texts[1] == "point";
    if (at && known && *at > 0 && *at < 9e9) marks.push_back({*at, texts[1], page_text(texts[2], kLongestName)});
  }
  std::stable_sort(marks.begin(), marks.end(), [](const MarkLine& a, const MarkLine& b) { return a.at < b.at; });
  return marks;
}

void follow(const std::vector<MarkLine>& marks, double end_s, PageMarks& out) {
  for (const MarkLine& mark : marks) {
    if (mark.event == "point") continue;
    if (!out.phases.empty() && is_absent(out.phases.back().ended)) out.phases.back().ended = mark.at;
    if (mark.event == "phase") out.phases.push_back({.name = mark.name, .started = mark.at});
  }
  if (!out.phases.empty() && is_absent(out.phases.back().ended))
    out.phases.back().ended = std::max(end_s, out.phases.back().started);
}

// False when run.json knows of none.
bool read_phases(const std::string& run_json, PageMarks& out) {
  const auto json = nlohmann::json::parse(run_json, nullptr, false);
  if (!json.is_object() || !json.contains("phases") || !json["phases"].is_array()) return false;
  for (const auto& entry : json["phases"]) {
    if (!entry.is_object()) continue;
    const auto number = [&](const char* key) {
      const auto found = entry.find(key);
      return found != entry.end() && found->is_number() ? found->get<double>() : kAbsent;
    };
    PagePhase phase;
    if (const auto name = entry.find("name"); name != entry.end() && name->is_string())
      phase.name = page_text(name->get<std::string>(), kLongestName);
    phase.started = number("started");
    phase.ended = number("ended");
    phase.cpu_mean = number("cpu_mean");
    phase.cpu_s = number("cpu_s");
    phase.memory_peak_mib = number("memory_peak_mib");
    phase.read_bytes = number("disk_read_bytes");
    phase.written_bytes = number("disk_write_bytes");
    phase.gpu_mean = number("gpu_mean");
    if (!is_absent(phase.started)) out.phases.push_back(std::move(phase));
  }
  return !out.phases.empty();
}

}  // namespace

PageMarks read_page_marks(const std::string& folder, const std::string& run_json, double end_s) {
  PageMarks marks;
  if (folder.empty()) return marks;
  const std::vector<MarkLine> lines = read_mark_lines(folder + "/marks.csv");
  if (!read_phases(run_json, marks)) follow(lines, end_s, marks);
  for (const MarkLine& line : lines)
    if (line.event == "point") marks.points.push_back({line.name, line.at});
  const auto shorten = [&](auto& list) {
    if (list.size() <= kMostShown) return;
    marks.left_out += static_cast<int64_t>(list.size() - kMostShown);
    list.resize(kMostShown);
  };
  shorten(marks.phases);
  shorten(marks.points);
  return marks;
}

void write_page_marks(JsonWriter& json, const PageMarks& marks, double start_s) {
  json.key("phases").array();
  for (const PagePhase& phase : marks.phases) {
    json.array().value(phase.name);
    json.number(phase.started - start_s, 3).number(phase.ended - start_s, 3).end_array();
  }
  json.end_array();
  json.key("points").array();
  for (const PagePoint& point : marks.points) json.array().value(point.name).number(point.at - start_s, 3).end_array();
  json.end_array();
}

}  // namespace tacho
