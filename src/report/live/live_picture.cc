#include "report/live/live_picture.h"

#include <algorithm>
#include <array>

#include "base/text_width.h"
#include "base/units.h"
#include "base/writer.h"
#include "report/live/live_text.h"
#include "report/store/human.h"

namespace tacho {
namespace {

constexpr size_t kEndless = 4096;  // columns of a window that has no end
constexpr const char* kBold = "1";
constexpr const char* kReverse = "7";
constexpr const char* kBarColor = "38;5;39";
constexpr const char* kHotColor = "38;5;208";
constexpr const char* kQuietColor = "38;5;245";

// Lines are cut by what is seen, and coloured afterwards.
class Page {
 public:
  explicit Page(const Window& window) : window_(window), columns_(window.columns == 0 ? kEndless : window.columns) {}

  struct Piece {
    std::string text;
    const char* style = nullptr;
  };
  void add(const std::vector<Piece>& pieces) {
    if (full()) return;
    std::string line;
    size_t room = columns_;
    for (const Piece& piece : pieces) {
      std::string text = cut_to(piece.text, room);
      room -= std::min(room, text_width(text));
      if (window_.ascii) text = ascii_signs(text);
      const bool styled = window_.color && piece.style != nullptr && !text.empty();
      line += styled ? "\x1b[" + std::string(piece.style) + "m" + text + "\x1b[0m" : text;
    }
    while (line.ends_with(' ')) line.pop_back();
    lines.push_back(std::move(line));
  }
  bool full() const { return window_.lines > 0 && lines.size() >= window_.lines; }
  size_t left() const { return window_.lines == 0 ? SIZE_MAX : window_.lines - std::min(window_.lines, lines.size()); }
  size_t columns() const { return columns_; }

  std::vector<std::string> lines;

 private:
  const Window& window_;
  size_t columns_;
};

std::string percent_text(double share) { return is_absent(share) ? "-" : number_text(share * 100) + "%"; }

using Line = std::vector<Page::Piece>;

std::vector<Line> head_lines(const LiveState& state, size_t columns) {
  std::vector<Line> lines;
  if (state.figures.empty()) lines.push_back({{"no sample yet"}});
  const size_t name_width = columns >= 40 ? 11 : 7;
  for (const LiveView::Figure& figure : state.figures.figures(columns)) {
    Line line{{fit_left(figure.name, name_width)}, {figure.text}};
    if (!figure.bars.empty()) {
      line[1].text = fit_left(figure.text, 40 - name_width);
      line.push_back({figure.bars, kBarColor});
    }
    lines.push_back(std::move(line));
    if (figure.name != "cpu" || state.devices.cores.size() < 2) continue;
    const std::span<const double> cores = state.devices.cores;
    const size_t room = columns > name_width ? columns - name_width : 1;
    for (size_t at = 0; at < cores.size(); at += room)
      lines.push_back({{fit_left(at == 0 ? "cores" : "", name_width)},
                       {bars_text(cores.subspan(at, std::min(room, cores.size() - at)), 1), kBarColor}});
  }
  for (const LiveGpu& gpu : state.devices.gpus) {
    std::string text = fit_right(percent_text(gpu.usage), 4);
    if (!is_absent(gpu.vram_mib)) text += "  " + bytes_text(gpu.vram_mib * static_cast<double>(kMiB));
    if (!is_absent(gpu.power_w)) text += "  " + number_text(gpu.power_w) + " W";
    if (!is_absent(gpu.temperature_c)) text += "  " + number_text(gpu.temperature_c) + " °C";
    lines.push_back({{fit_left("gpu " + cell_text(gpu.number), name_width)}, {text}});
  }
  return lines;
}

enum class Field { pid, cpu, memory, io, gpu };
struct FieldShape {
  Field field;
  const char* title;
  const char* record_title;
  size_t width;
  LiveSort sort;
};
constexpr auto kFields = std::to_array<FieldShape>({{Field::pid, "PID", "PID", 8, LiveSort::cpu},
                                                    {Field::cpu, "CPU", "TIME", 7, LiveSort::cpu},
                                                    {Field::memory, "MEMORY", "PEAK", 10, LiveSort::memory},
                                                    {Field::io, "I/O /s", "I/O", 10, LiveSort::io},
                                                    {Field::gpu, "GPU MEM", "GPU MEM", 10, LiveSort::gpu}});

// As many as leave room for a name; what it is sorted by stays longest.
std::vector<FieldShape> chosen_fields(const LiveState& state, LiveSort sort, size_t columns) {
  constexpr size_t kName = 12;
  std::vector<FieldShape> fields(kFields.begin(), kFields.end());
  const auto has_gpu = [](const LiveProcess& process) { return !is_absent(process.gpu_bytes); };
  if (sort != LiveSort::gpu && std::none_of(state.processes.begin(), state.processes.end(), has_gpu)) fields.pop_back();
  const auto width = [&] {
    size_t sum = kName;
    for (const FieldShape& field : fields) sum += field.width;
    return sum;
  };
  for (const Field drop : {Field::gpu, Field::io, Field::memory, Field::pid, Field::cpu}) {
    if (width() <= columns) break;
    std::erase_if(fields, [&](const FieldShape& shape) {
      return shape.field == drop && (drop == Field::pid || shape.sort != sort);
    });
  }
  return fields;
}

std::string field_text(const LiveProcess& process, Field field, bool of_record) {
  const auto bytes = [](double value) { return is_absent(value) ? std::string("-") : bytes_text(value); };
  switch (field) {
    case Field::pid: return process.pid > 0 ? std::to_string(process.pid) : "-";
    case Field::cpu:
      if (is_absent(process.cpu)) return "-";
      return of_record ? duration_text(process.cpu) : percent_text(process.cpu);
    case Field::memory: return bytes(process.memory_bytes);
    case Field::io: return bytes(process.io_bytes);
    case Field::gpu: return bytes(process.gpu_bytes);
  }
  return "";
}

void add_processes(const LiveState& state, const LiveChoice& choice, size_t room, Page& page, Picture& picture) {
  if (room == 0) return;
  const std::vector<FieldShape> fields = chosen_fields(state, choice.sort, page.columns());
  std::string titles;
  for (const FieldShape& field : fields) {
    const bool sorted = field.sort == choice.sort && field.field != Field::pid;
    titles += fit_right((sorted ? "*" : "") + std::string(state.of_record ? field.record_title : field.title),
                        field.width - 1) +
              " ";
  }
  const size_t name_width = page.columns() - std::min(page.columns(), titles.size());
  // The rest of the line belongs to the bar that the titles are; an endless one ends with them.
  titles += page.columns() == kEndless ? "COMMAND" : fit_left("COMMAND", name_width);
  page.add({{titles, kReverse}});
  const std::vector<ShownProcess> shown = shown_processes(state.processes, choice);
  picture.page = room == SIZE_MAX ? shown.size() : room - 1;
  picture.first = std::min(choice.first, shown.size() - std::min(shown.size(), std::max<size_t>(1, picture.page)));
  const size_t deepest = std::max<size_t>(1, name_width / 3);
  for (size_t i = picture.first; i < shown.size() && i - picture.first < picture.page; ++i) {
    const LiveProcess& process = state.processes[shown[i].index];
    std::string figures;
    for (const FieldShape& field : fields)
      figures += fit_right(field_text(process, field.field, state.of_record), field.width - 1) + " ";
    const size_t depth = shown[i].depth;
    std::string branch;
    if (depth > 0) branch = std::string(std::min(deepest, 2 * (depth - 1)), ' ') + "└ ";
    const bool hot = !state.of_record && process.cpu >= 0.5;
    page.add({{figures, hot ? kHotColor : nullptr}, {branch, kQuietColor}, {cell_text(process.name)}});
  }
}

constexpr std::array<const char*, 9> kHelp{"q        quit",
                                           "t        tree or list",
                                           "c        sort by CPU",
                                           "m        sort by memory",
                                           "i        sort by I/O",
                                           "g        sort by GPU memory",
                                           "p        pause",
                                           "arrows   scroll (left, right: a page)",
                                           "?        this help, and back"};

}  // namespace

Picture live_picture(const LiveState& state, const LiveChoice& choice, const Window& window) {
  Picture picture;
  Page page(window);
  const std::string what = choice.paused ? "paused · " : state.ended ? "ended · " : "";
  const std::string who = window.keys && page.columns() >= 60 ? "tacho top · " : "";
  page.add({{what, kHotColor}, {who + cell_text(state.figures.head()), kBold}});
  const bool footer = window.keys && window.lines >= 8;
  const auto left = [&] { return page.left() == SIZE_MAX ? SIZE_MAX : page.left() - (footer ? 1 : 0); };
  if (choice.help) {
    for (const char* line : kHelp)
      if (left() > 0) page.add({{line}});
  } else {
    std::vector<Line> head = head_lines(state, page.columns());
    // The processes have half of what there is, or what they need.
    const size_t lists = std::min(left() / 2, state.processes.size() + 1);
    if (left() != SIZE_MAX && head.size() > left() - lists) head.resize(left() - lists);
    for (const Line& line : head) page.add(line);
    if (!state.processes.empty()) add_processes(state, choice, left(), page, picture);
  }
  if (footer) {
    while (page.left() > 1) page.add({});
    page.add({{"q quit  t tree  c m i g sort  p pause  ? help", kQuietColor}});
  }
  picture.lines = std::move(page.lines);
  return picture;
}

std::string live_json(const LiveState& state, const Schema& schema, const Row& row) {
  Writer out;
  JsonWriter json(out);
  json.object();
  for (size_t i = 0; i < schema.size() && i < row.cells.size(); ++i)
    json.key(schema[i].name).number(row.cells[i], schema[i].decimals);
  json.key("cores").array();
  for (const double share : state.devices.cores) json.number(share, 4);
  json.end_array().key("gpus").array();
  for (const LiveGpu& gpu : state.devices.gpus) {
    json.object().key("gpu").value(gpu.number).key("usage").number(gpu.usage, 4);
    json.key("vram_mib").number(gpu.vram_mib, 3).key("power_w").number(gpu.power_w, 1);
    json.key("temperature_c").number(gpu.temperature_c, 1).end_object();
  }
  json.end_array().key("processes").array();
  for (const LiveProcess& process : state.processes) {
    json.object().key("pid");
    if (process.pid > 0) json.integer(process.pid);
    else json.null();
    json.key("ppid");
    if (process.parent > 0) json.integer(process.parent);
    else json.null();
    json.key("name").value(cell_text(process.name));
    json.key(state.of_record ? "cpu_s" : "cpu").number(process.cpu, 4);
    json.key(state.of_record ? "peak_memory_bytes" : "memory_bytes").number(process.memory_bytes, 0);
    json.key(state.of_record ? "io_bytes" : "io_bytes_per_s").number(process.io_bytes, 0);
    json.key("gpu_bytes").number(process.gpu_bytes, 0).end_object();
  }
  json.end_array().end_object();
  return std::string(out.view()) + "\n";
}

}  // namespace tacho
