#include "deliver/thin_out.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/writer.h"
#include "deliver/records.h"
#include "probe/kit/probe.h"
#include "spool/bq_record.h"

namespace tacho {
namespace {

constexpr char kOwnTable = 'T';
constexpr JsonBounds kRowBounds{kSegmentLimit, 8, 100'000};

// What an interval added, by the probes' own tables. A probe that derives such a column itself (bytes over a GPU's
// links, whose counters have times of their own) says so by its unit: a rate has "bytes/s".
bool is_added_up(std::string_view column) {
  static const std::set<std::string_view> kAdded = [] {
    std::set<std::string_view> names;
    for (const ProbeInfo& probe : all_probes())
      for (const Column& known : probe.columns)
        if (known.rule == Rule::delta || (known.rule == Rule::custom && known.unit == "bytes"))
          names.insert(known.name);
    return names;
  }();
  return kAdded.contains(column);
}

int decimals_of(std::string_view number) {
  const size_t point = number.find('.');
  return point == std::string_view::npos ? 0 : static_cast<int>(number.size() - point - 1);
}

// An unknown value leaves the other one.
void put_merged(Writer& out, std::string_view a, std::string_view b, bool add) {
  const auto first = parse_double(a), second = parse_double(b);
  if (!first || !second) return out.put(second ? b : a);
  if (add) out.put_fixed(*first + *second, std::max(decimals_of(a), decimals_of(b)));
  else out.put(*second >= *first ? b : a);
}

// An unknown value leaves the other one. Sums keep no more decimals than a column can have.
Json merged_value(const Json& first, const Json& second, bool add) {
  if (!first.is_number() || !second.is_number()) return second;
  if (!add) return second.get<double>() >= first.get<double>() ? second : first;
  if (first.is_number_integer() && second.is_number_integer()) return first.get<int64_t>() + second.get<int64_t>();
  return std::round((first.get<double>() + second.get<double>()) * 1e6) / 1e6;
}

// {"timestamp":"…","seq":7,"system_utime":0.25,…}; time and number are the later one's. Empty: no such row.
std::string merged_row(std::string_view earlier, std::string_view later) {
  const Json first = parse_json(earlier, kRowBounds);
  Json row = parse_json(later, kRowBounds);
  if (!first.is_object() || !row.is_object()) return {};
  for (const auto& [name, value] : first.items()) {
    const auto found = row.find(name);
    if (found == row.end()) row[name] = value;
    else if (name != "timestamp" && name != "seq") *found = merged_value(value, *found, is_added_up(name));
  }
  return row.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string merge_pairwise(std::string_view csv) {
  const size_t header_end = csv.find('\n');
  if (header_end == std::string_view::npos) return std::string(csv);
  const auto names = split(csv.substr(0, header_end), ',');
  std::vector<bool> adds;
  for (const std::string_view name : names) adds.push_back(is_added_up(name));
  Writer out(csv.size());
  out.put(csv.substr(0, header_end + 1));
  std::string_view rest = csv.substr(header_end + 1), waiting;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (waiting.empty()) {
      waiting = line;
      continue;
    }
    const auto a = split(waiting, ','), b = split(line, ',');
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (i > 0) out.put(',');
      // The pair ends when its second row does, also where a clock that was set back came between them.
      if (i < names.size() && names[i] == "timestamp") out.put(b[i]);
      else put_merged(out, a[i], b[i], i < adds.size() && adds[i]);
    }
    out.put('\n');
    waiting = {};
  }
  if (!waiting.empty()) {
    out.put(waiting);
    out.put('\n');
  }
  return std::string(out.view());
}

std::string merge_records(std::string_view records) {
  Writer out(records.size());
  BqRecords lines(records);
  BqRecord waiting;
  for (BqRecord record; lines.next(record);) {
    if (record.table != kOwnTable) {
      out.put(record.line);
    } else if (waiting.line.empty()) {
      waiting = record;
    } else {
      if (const std::string row = merged_row(waiting.row, record.row); !row.empty())
        write_bq_record(out, kOwnTable, record.time_us, row);
      else out.put(waiting.line), out.put(record.line);
      waiting = {};
    }
  }
  // What is lost in a damaged segment is told when it is sent: it stays as it is.
  if (lines.damaged() > 0) return std::string(records);
  out.put(waiting.line);
  return std::string(out.view());
}

int64_t thin_out(const SpoolRun& run, const std::function<bool(uint32_t number)>& in_hands, const RowsForm& form,
                 std::string_view memory_root) {
  std::vector<Segment> in_memory;
  int64_t sum = 0, gone = 0;
  for (Segment& segment : run.sealed()) {
    if (!segment.path.starts_with(memory_root)) continue;
    sum += segment.seal.bytes;
    in_memory.push_back(std::move(segment));
  }
  for (const Segment& segment : in_memory) {
    if (sum <= form.limit_bytes) break;
    if (segment.seal.rows < 2 || in_hands(segment.seal.number)) continue;
    const auto text = run.read(segment);
    if (!text) continue;
    const std::string merged = form.merge(*text);
    const int64_t rows = std::count(merged.begin(), merged.end(), '\n') - form.headers;
    if (rows == segment.seal.rows || !run.replace(segment, merged, rows)) continue;
    sum -= segment.seal.bytes - static_cast<int64_t>(merged.size());
    gone += segment.seal.rows - rows;
  }
  return gone;
}

}  // namespace tacho
