// What the readers of logs share: lines of a growing file (only complete ones while training runs, the unfinished last
// one when it is over); lines over 1 MiB, which are skipped and counted; exact places; the echo. Not thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "katib/read/growing_file.h"
#include "katib/read/reader.h"
#include "katib/read/reader_options.h"
#include "katib/read/utc_time.h"
#include "katib/read/value_rule.h"

namespace tacho {

class LineReader : public Reader {
 public:
  static constexpr size_t kLongestLine = size_t{1} << 20;

  Result<bool> read(bool at_end, size_t limit, const Take& take) override;
  std::string position() const override;
  Status seek(std::string_view position) override;
  Status begin_anew() override {
    file_.begin_anew();
    return seek("");
  }
  void hold() override { file_.hold(); }
  void want_rows(bool want) override { want_rows_ = want; }
  uint64_t passed() const override { return file_.passed() + line_at_; }
  bool restarted() override { return file_.restarted(); }
  std::vector<std::string> folders() const override;
  ReaderCounts counts() const override;

 protected:
  LineReader(std::string path, ReaderOptions options);

  // Passes on the rows of `lines`, each ended by '\n' but perhaps the last, until `limit` are passed on. Returns how
  // many bytes were dealt with: whole lines. A line with more rows than that stays unfinished; line_matches_ says how
  // far it was read.
  virtual Result<size_t> parse(std::string_view lines, size_t limit, const Take& take) = 0;
  // The time of a row that has none of its own.
  TimeStamp missing_time();
  // A large value counts as many rows, so that a read() of large values stays as small as one of numbers.
  void count_row(std::string_view value) { taken_ += 1 + value.size() / 256; }

  ReaderOptions options_;
  ValueRule values_;
  uint64_t bad_lines_ = 0;
  size_t taken_ = 0;         // rows of this read()
  size_t line_matches_ = 0;  // of the first unread line: matches that were dealt with
  size_t line_at_ = 0;       // where in unread() the line begins whose rows are passed on

 private:
  bool wants_rows() const { return want_rows_ && !options_.metrics.empty(); }
  Result<size_t> parse_complete(std::string_view lines, size_t limit, const Take& take);
  void pass(size_t bytes);
  void note_long_line();
  uint64_t& echoed_to();

  GrowingFile file_;
  ArrivalTimes arrival_;
  size_t searched_ = 0;    // bytes of unread() that hold no line's end
  bool skipping_ = false;  // inside a line that is too long
  bool want_rows_ = true;
  uint64_t long_lines_ = 0;
  std::vector<std::pair<GrowingFile::Identity, uint64_t>> echoed_;  // how far the last few files were
};

}  // namespace tacho
