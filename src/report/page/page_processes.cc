#include "report/page/page_processes.h"

#include <algorithm>
#include <map>

#include "base/page_text.h"
#include "report/store/record_lines.h"

namespace tacho {
namespace {

constexpr std::string_view kHeader = "pid,ppid,name,command,started,ended,count,cpu_s";
// A run that goes on may have listed a hundred thousand: this many are held at a time.
constexpr size_t kHeldMost = 24'000, kHeldAfterwards = 12'000;
constexpr size_t kLongestCommand = 160;

using Key = std::pair<int64_t, double>;  // pid and start; of merged lines their number

// The page shows no more of a text than has room.
bool read_for_page(std::string_view line, ProcessLine& process) {
  if (!read_process_line(line, process)) return false;
  process.name = page_text(process.name, 48);
  process.command = page_text(process.command, kLongestCommand);
  process.exit = page_text(process.exit, 24);
  return true;
}

double plus(double a, double b) { return is_absent(a) ? b : is_absent(b) ? a : a + b; }
double most_of(double a, double b) { return is_absent(a) || a < b ? b : a; }
double least_of(double a, double b) { return is_absent(a) || a > b ? b : a; }

void merge_into(ProcessLine& sum, const ProcessLine& one) {
  sum.started = least_of(sum.started, one.started);
  sum.ended = most_of(sum.ended, one.ended);
  sum.count += one.count;
  sum.cpu_s = plus(sum.cpu_s, one.cpu_s);
  sum.peak_mib = most_of(sum.peak_mib, one.peak_mib);
  sum.read_bytes = plus(sum.read_bytes, one.read_bytes);
  sum.written_bytes = plus(sum.written_bytes, one.written_bytes);
  sum.vram_mib = most_of(sum.vram_mib, one.vram_mib);
}

double or_zero(double value) { return is_absent(value) ? 0 : value; }

// Who must not disappear: the most CPU first, but the peak of memory and of I/O too.
void put_largest_first(std::vector<ProcessLine>& lines, size_t most) {
  const auto io = [](const ProcessLine& one) { return or_zero(one.read_bytes) + or_zero(one.written_bytes); };
  const auto memory = [](const ProcessLine& one) { return or_zero(one.peak_mib); };
  const auto cpu = [](const ProcessLine& one) { return or_zero(one.cpu_s); };
  const auto first = [&](size_t from, size_t count, auto value) {
    count = std::min(count, lines.size() - from);
    const auto begin = lines.begin() + static_cast<ptrdiff_t>(from);
    std::partial_sort(begin, begin + static_cast<ptrdiff_t>(count), lines.end(),
                      [&](const ProcessLine& a, const ProcessLine& b) { return value(a) > value(b); });
    return from + count;
  };
  size_t at = first(0, most / 6, io);
  at = first(at, most / 6, memory);
  first(at, most - std::min(most, at), cpu);
}

}  // namespace

void PageProcesses::keep(size_t most) {
  most = std::max<size_t>(most, 1);
  ProcessLine rest;
  rest.name = "(the others)";
  rest.count = 0;
  // The one of before is not one of the largest.
  const auto before = std::find_if(lines.begin(), lines.end(), [&](const ProcessLine& one) {
    return left_out > 0 && one.pid == 0 && one.name == rest.name;
  });
  if (before != lines.end()) {
    rest = *before;
    lines.erase(before);
  }
  if (lines.size() > most) {
    put_largest_first(lines, most);
    for (size_t i = most; i < lines.size(); ++i) merge_into(rest, lines[i]);
    lines.resize(most);
  }
  left_out = rest.count;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const ProcessLine& a, const ProcessLine& b) { return or_zero(a.cpu_s) > or_zero(b.cpu_s); });
  if (left_out > 0) lines.push_back(std::move(rest));
}

PageProcesses read_page_processes(const std::string& path) {
  PageProcesses processes;
  RecordLines records;
  std::string_view line;
  if (!records.open(path) || !records.next(line) || !line.starts_with(kHeader)) return processes;
  std::map<Key, ProcessLine> held;  // the last line of a pid and start counts
  double merged = 0;
  while (records.next(line)) {
    ProcessLine process;
    if (!read_for_page(line, process)) {
      ++processes.skipped;
      continue;
    }
    const Key key = process.pid > 0 ? Key{process.pid, or_zero(process.started)} : Key{0, ++merged};
    held.insert_or_assign(key, std::move(process));
    if (held.size() <= kHeldMost) continue;
    for (auto at = held.begin(); at != held.end();) {
      if (is_absent(at->second.ended)) {
        ++at;
        continue;
      }
      processes.lines.push_back(std::move(at->second));
      at = held.erase(at);
    }
    processes.keep(kHeldAfterwards);
    if (held.size() > kHeldMost) break;  // nobody ends: no process table is that long
  }
  for (auto& [key, process] : held) processes.lines.push_back(std::move(process));
  return processes;
}

void write_page_processes(JsonWriter& json, const PageProcesses& processes, double start_s) {
  json.array();
  for (const ProcessLine& one : processes.lines) {
    json.array();
    json.value(one.name).value(one.command);
    json.integer(one.pid).integer(one.ppid);
    json.number(one.started - start_s, 3).number(one.ended - start_s, 3);
    json.integer(one.count).number(one.cpu_s, 4).number(one.peak_mib, 2);
    json.number(one.read_bytes, 0).number(one.written_bytes, 0).number(one.vram_mib, 1);
    json.value(one.exit);
    json.end_array();
  }
  json.end_array();
}

}  // namespace tacho
