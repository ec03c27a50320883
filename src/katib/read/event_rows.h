// What the two orders of reading event files share: which files there are, and how a value becomes a row. Not
// thread-safe.
#pragma once
#include <string>
#include <vector>

#include "katib/read/event.h"
#include "katib/read/growing_file.h"
#include "katib/read/reader.h"
#include "katib/read/reader_options.h"
#include "katib/read/utc_time.h"
#include "katib/read/value_rule.h"

namespace tacho {

inline constexpr size_t kMostEventFiles = 20'000;

struct FoundFile {
  std::string path, folder;
  GrowingFile::Identity identity;
  uint64_t size = 0;
};

// All event files in `root` and below, a folder's files by name before its folders; linked folders are not entered. The
// folders that were entered are added to `folders`. `trouble` is told what exists but could not be read: closed to us,
// or an error that passes. A trainer may fill its folder with anything: folders, files and entries are read up to a
// limit, with a message.
enum class FolderTrouble { none, closed, passing };
std::vector<FoundFile> find_event_files(const std::string& root, std::vector<std::string>& folders,
                                        FolderTrouble& trouble);

// Once per file and fault.
void warn_of_broken(const std::string& path, const std::string& error);

class EventRows {
 public:
  explicit EventRows(const ReaderOptions& options);

  // Passes on the row of `value` under the metric's name; false when it makes none: no number, or one that is not
  // reported.
  bool pass_on(const std::string& metric, const Event& event, const SummaryValue& value, const Reader::Take& take);
  ReaderCounts counts(uint64_t bad_records) const {
    ReaderCounts counts;
    values_.count(counts);
    counts.bad_records = bad_records;
    return counts;
  }

 private:
  TimeStamp time_of(const Event& event);

  RowTime row_time_;
  ValueRule values_;
  ArrivalTimes arrival_;
  std::string text_;
};

}  // namespace tacho
