#include "cromwell/analyze_source.h"

#include <glob.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cromwell/analyze_row.h"
#include "cromwell/metadata_file.h"

namespace tacho {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kMostLineBytes = size_t{12} << 20;  // BigQuery takes rows of 10 MB

constexpr const char* kHowToExport =
    "export as newline-delimited JSON: bq extract --destination_format NEWLINE_DELIMITED_JSON [--compression GZIP] "
    "DATASET.TABLE gs://BUCKET/TABLE-*.json";

// Why a file that begins like this is no newline-delimited JSON; empty when it may be.
std::string refusal(std::string_view start) {
  if (start.starts_with("Obj\x01")) return "this is Avro, and analyze reads newline-delimited JSON";
  if (start.starts_with("PAR1")) return "this is Parquet, and analyze reads newline-delimited JSON";
  if (start.empty() || start[0] == '{') return {};
  if (start[0] == '[') return "this is one JSON array, not a row a line (jq -c '.[]' makes lines of it)";
  const std::string_view header = start.substr(0, start.find('\n'));
  if (header.find(',') != std::string_view::npos)
    return "this is CSV, which cannot hold repeated columns (cpu_used_percent, disk_used_gb, inputs)";
  return "this is no newline-delimited JSON";
}

class ExportLines {
 public:
  ExportLines(std::string path, const TableSink& sink, TableCount& count)
      : path_(std::move(path)), sink_(sink), count_(count) {}

  void take(std::string_view piece) {
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      if (open_.empty() && !too_long_) line(piece.substr(0, end));
      else if (keep(piece.substr(0, end))) line(open_);
      open_.clear();
      too_long_ = false;
      piece.remove_prefix(end + 1);
    }
    keep(piece);
  }
  void finish() {
    if (!open_.empty()) line(open_);
  }

 private:
  // A line that goes on in the next piece; false once it is too long.
  bool keep(std::string_view part) {
    if (!too_long_ && open_.size() + part.size() <= kMostLineBytes) {
      open_.append(part);
      return true;
    }
    if (!too_long_) {
      ++number_;
      fault("longer than 12 MiB");
      open_ = {};
    }
    too_long_ = true;
    return false;
  }
  void line(std::string_view text) {
    ++number_;
    if (trim(text).empty()) return;
    sink_.begin_row();
    const Status good = reader_.read(text, *sink_.cells);
    const std::string why = good ? sink_.end_row() : good.error().what;
    if (why.empty()) ++count_.rows;
    else fault(why);
  }
  void fault(const std::string& why) {
    count_.fault(path_ + ": line " + std::to_string(number_) + ": " + harmless_text(why));
  }

  std::string path_;
  const TableSink& sink_;
  TableCount& count_;
  ExportLineReader reader_;
  std::string open_;
  bool too_long_ = false;
  uint64_t number_ = 0;
};

}  // namespace

std::vector<std::string> files_named(const std::string& name) {
  if (name.find('*') == std::string::npos) return {name};
  glob_t found{};
  std::vector<std::string> names;
  if (::glob(name.c_str(), 0, nullptr, &found) == 0) names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (names.empty()) names.push_back(name);
  return names;
}

Status read_export(const std::string& path, const std::string& table, const TableSink& sink, TableCount& count) {
  const auto file = MetadataFile::open(path, table + " export");
  if (!file) return file.error();
  const JsonReader::Fill fill = file->reader();
  const std::unique_ptr<char[]> buffer(new char[kPieceBytes]);
  const TableCount before = count;
  ExportLines lines(path, sink, count);
  for (bool first = true;; first = false) {
    const auto got = fill(buffer.get(), kPieceBytes);
    if (!got) return Error{got.error().code, got.error().what, path, got.error().hint};
    if (*got == 0) break;
    const std::string_view piece(buffer.get(), *got);
    const std::string why =
        first ? refusal(piece.substr(std::min(piece.find_first_not_of(" \t\r\n"), piece.size()))) : "";
    if (!why.empty()) return Error{Code::invalid, why, path, kHowToExport};
    lines.take(piece);
  }
  lines.finish();
  if (count.rows == before.rows && count.bad > before.bad)
    return Error{Code::invalid, "no line of it is a row of the table " + table, path,
                 count.faults.empty() ? kHowToExport : count.faults.front()};
  return ok();
}

}  // namespace tacho
