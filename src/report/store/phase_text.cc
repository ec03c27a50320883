#include "report/store/phase_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "model/column.h"
#include "report/store/human.h"

namespace tacho {
namespace {

constexpr size_t kFigures = 6;
constexpr std::array<std::string_view, kFigures> kTitles{"time", "cpu time", "cores", "memory", "read", "written"};
constexpr size_t kShortestName = 8;

using Cells = std::array<std::string, kFigures>;

std::string when_known(double value, std::string (*text)(double)) { return is_absent(value) ? "-" : text(value); }

Cells cells_of(const Phase& phase) {
  return {when_known(phase.ended_s - phase.started_s, duration_text),
          when_known(phase.cpu_s, duration_text),
          when_known(phase.cpu_mean, number_text),
          is_absent(phase.memory_peak_mib) ? "-" : bytes_text(phase.memory_peak_mib * 1024 * 1024),
          when_known(phase.disk_read_bytes, bytes_text),
          when_known(phase.disk_write_bytes, bytes_text)};
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut(const std::string& name, size_t width) {
  if (characters(name) <= width) return name;
  size_t end = 0;
  for (size_t kept = 0; kept + 1 < width && end < name.size(); ++kept)
    end += std::max<size_t>(1, utf8_length(std::string_view(name).substr(end)));
  return name.substr(0, end) + "…";
}

}  // namespace

std::string phase_table(const Run& run, size_t width) {
  if (run.phases.empty()) return {};
  const bool gpu =
      std::any_of(run.phases.begin(), run.phases.end(), [](const Phase& p) { return !is_absent(p.gpu_mean); });
  std::vector<std::pair<std::string, Cells>> lines;
  std::array<size_t, kFigures> widths{};
  for (size_t i = 0; i < kFigures; ++i) widths[i] = kTitles[i].size();
  size_t name_width = 5;
  for (const Phase& phase : run.phases) {
    lines.emplace_back(harmless_text(phase.name), cells_of(phase));
    name_width = std::max(name_width, characters(lines.back().first));
    for (size_t i = 0; i < kFigures; ++i) widths[i] = std::max(widths[i], lines.back().second[i].size());
  }
  size_t figures = gpu ? 2 + 6 : 0;
  for (const size_t one : widths) figures += 2 + one;
  name_width = std::min(name_width, std::max(kShortestName, width > figures + 2 ? width - figures - 2 : 0));
  std::string text;
  const auto put = [&](const std::string& name, const auto& cells, const std::string& gpu_text) {
    const std::string shown = cut(name, name_width);
    text += "  " + shown + std::string(name_width - std::min(name_width, characters(shown)), ' ');
    for (size_t i = 0; i < kFigures; ++i)
      text += std::string(2 + widths[i] - cells[i].size(), ' ') + std::string(cells[i]);
    if (gpu) text += std::string(8 - std::min<size_t>(8, gpu_text.size()), ' ') + gpu_text;
    text += '\n';
  };
  put("phase", kTitles, "gpu");
  for (size_t i = 0; i < lines.size(); ++i)
    put(lines[i].first, lines[i].second, when_known(run.phases[i].gpu_mean, number_text));
  return text;
}

}  // namespace tacho
