#include "report/live/live_state.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace tacho {
namespace {

double sort_key(const LiveProcess& process, LiveSort sort) {
  const double value = sort == LiveSort::cpu      ? process.cpu
                       : sort == LiveSort::memory ? process.memory_bytes
                       : sort == LiveSort::io     ? process.io_bytes
                                                  : process.gpu_bytes;
  return is_absent(value) ? 0 : value;
}

constexpr size_t kNobody = SIZE_MAX, kMostSummed = 64;

// The parent of each by its place in the list.
std::vector<size_t> parents_of(std::span<const LiveProcess> processes) {
  std::unordered_map<pid_t, size_t> places;
  for (size_t i = 0; i < processes.size(); ++i)
    if (processes[i].pid > 0) places.emplace(processes[i].pid, i);
  std::vector<size_t> parents(processes.size(), kNobody);
  for (size_t i = 0; i < processes.size(); ++i)
    if (const auto found = places.find(processes[i].parent); found != places.end() && found->second != i)
      parents[i] = found->second;
  // Each is walked up once; who is met again in the same walk is in a ring, which is opened there.
  std::vector<size_t> walk(processes.size(), kNobody);
  for (size_t i = 0; i < processes.size(); ++i)
    for (size_t at = i; at != kNobody && walk[at] == kNobody; at = parents[at]) {
      walk[at] = i;
      if (parents[at] != kNobody && walk[parents[at]] == i) parents[at] = kNobody;
    }
  return parents;
}

struct Move {
  std::string_view bytes;
  int lines;  // ±1: one; ±2: a page; ±3: all
};
constexpr Move kMoves[] = {{"\x1b[A", -1},  {"\x1bOA", -1}, {"\x1b[B", 1},   {"\x1bOB", 1},
                           {"\x1b[5~", -2}, {"\x1b[6~", 2}, {"\x1b[H", -3},  {"\x1bOH", -3},
                           {"\x1b[F", 3},   {"\x1bOF", 3},  {"\x1b[1~", -3}, {"\x1b[4~", 3},
                           {"\x1b[D", -2},  {"\x1bOD", -2}, {"\x1b[C", 2},   {"\x1bOC", 2}};

constexpr size_t kEnd = 1'000'000'000;  // the picture knows where that is

void move(int lines, size_t page, LiveChoice& choice) {
  const size_t step = lines == 1 || lines == -1 ? 1 : lines == 2 || lines == -2 ? std::max<size_t>(page, 1) : kEnd;
  if (lines > 0) choice.first = std::min(kEnd, choice.first + step);
  else choice.first -= std::min(choice.first, step);
}

KeyEffect apply_letter(char key, LiveChoice& choice) {
  const auto sort_by = [&](LiveSort sort) { choice.sort = sort, choice.first = 0; };
  switch (key) {
    case 'q':
    case 'Q':
    case 0x03: return KeyEffect::quit;  // Ctrl-C, where the terminal makes no signal of it
    case 't': choice.tree = !choice.tree, choice.first = 0; break;
    case 'c': sort_by(LiveSort::cpu); break;
    case 'm': sort_by(LiveSort::memory); break;
    case 'i': sort_by(LiveSort::io); break;
    case 'g': sort_by(LiveSort::gpu); break;
    case 'p': choice.paused = !choice.paused; break;
    case '?':
    case 'h': choice.help = !choice.help; break;
    default: return KeyEffect::none;
  }
  return KeyEffect::changed;
}

// The length of a control sequence that means nothing here: it is passed over as a whole, or its letters would be keys.
size_t unknown_sequence(std::string_view bytes) {
  if (bytes.size() < 2 || (bytes[1] != '[' && bytes[1] != 'O')) return 1;
  size_t at = 2;
  while (at < bytes.size() && (bytes[at] < 0x40 || bytes[at] > 0x7E)) ++at;
  return std::min(bytes.size(), at + 1);
}

}  // namespace

LiveDevices live_devices(std::span<const std::string> columns, std::span<const double> cells) {
  LiveDevices devices;
  for (size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
    const std::string_view name = columns[i];
    if ((name.starts_with("core_") || name.starts_with("node_")) && name.ends_with("_usage"))
      devices.cores.push_back(cells[i]);
    if (!name.starts_with("gpu_")) continue;
    const size_t end = name.find('_', 4);
    if (end == std::string_view::npos) continue;
    const std::string number(name.substr(4, end - 4));
    if (devices.gpus.empty() || devices.gpus.back().number != number) devices.gpus.push_back({.number = number});
    LiveGpu& gpu = devices.gpus.back();
    const std::string_view what = name.substr(end + 1);
    if (what == "usage") gpu.usage = cells[i];
    else if (what == "vram_mib") gpu.vram_mib = cells[i];
    else if (what == "power_w") gpu.power_w = cells[i];
    else if (what == "temperature_c") gpu.temperature_c = cells[i];
  }
  return devices;
}

KeyEffect apply_keys(std::string_view bytes, size_t page, LiveChoice& choice) {
  KeyEffect effect = KeyEffect::none;
  while (!bytes.empty()) {
    const auto known = std::find_if(std::begin(kMoves), std::end(kMoves),
                                    [&](const Move& move) { return bytes.starts_with(move.bytes); });
    if (known != std::end(kMoves)) {
      move(known->lines, page, choice);
      effect = KeyEffect::changed;
      bytes.remove_prefix(known->bytes.size());
    } else if (bytes[0] == 0x1b) {
      bytes.remove_prefix(unknown_sequence(bytes));
    } else {
      const KeyEffect one = apply_letter(bytes[0], choice);
      if (one == KeyEffect::quit) return one;
      if (one == KeyEffect::changed) effect = one;
      bytes.remove_prefix(1);
    }
  }
  return effect;
}

std::vector<ShownProcess> shown_processes(std::span<const LiveProcess> processes, const LiveChoice& choice) {
  std::vector<double> keys(processes.size());
  for (size_t i = 0; i < processes.size(); ++i) keys[i] = sort_key(processes[i], choice.sort);
  const std::vector<size_t> parents =
      choice.tree ? parents_of(processes) : std::vector<size_t>(processes.size(), kNobody);
  // A branch stands where all of it together belongs.
  std::vector<double> branch = keys;
  std::vector<std::vector<size_t>> children(processes.size() + 1);
  for (size_t i = 0; i < processes.size(); ++i) {
    size_t steps = 0;  // a chain of all processes would take their square
    for (size_t up = parents[i]; up != kNobody && steps < kMostSummed; up = parents[up], ++steps) branch[up] += keys[i];
    children[parents[i] == kNobody ? processes.size() : parents[i]].push_back(i);
  }
  const auto smaller = [&](size_t a, size_t b) {
    return branch[a] != branch[b] ? branch[a] < branch[b] : processes[a].pid > processes[b].pid;
  };
  for (auto& list : children) std::sort(list.begin(), list.end(), smaller);  // the last one is shown first
  std::vector<ShownProcess> shown, open;
  shown.reserve(processes.size());
  for (const size_t top : children[processes.size()]) open.push_back({top, 0});
  while (!open.empty()) {
    const ShownProcess next = open.back();
    open.pop_back();
    shown.push_back(next);
    for (const size_t child : children[next.index]) open.push_back({child, next.depth + 1});
  }
  return shown;
}

}  // namespace tacho
