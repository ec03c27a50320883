// Rows that tacho makes itself (scraped samples, resources, `unavailable`), kept in a file until they are acknowledged,
// so that they outlive a restart like the lines of a log. Without a folder to keep it in, the file is in memory only.
// The rows come out again through its Reader. The file begins with its owner's name, and is emptied for another owner.
// Each line has a checksum: a line that was torn, or that somebody else wrote, is no row. File and memory are limited;
// rows beyond that are lost, with a message. Not thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "katib/read/reader.h"
#include "os/fd.h"

namespace tacho {

class Journal final : public Reader {
 public:
  // `path` "" : in memory. In memory, too, with a warning, when the file cannot be made or written. `owner`: the Trial.
  explicit Journal(std::string path, std::string_view owner = "");
  // Rows that wait: hours of a database that is away.
  static constexpr int64_t kMostInFile = int64_t{256} << 20, kMostInMemory = int64_t{8} << 20;
  void limit(int64_t in_file, int64_t in_memory) { most_in_file_ = in_file, most_in_memory_ = in_memory; }
  uint64_t lost() const { return lost_; }

  void append(const MetricRow& row);
  bool holds(std::string_view name, std::string_view value) const;  // searches all of it
  // Everything was acknowledged: frees the rows in memory.
  void all_acknowledged();

  Result<bool> read(bool at_end, size_t limit, const Take& take) override;
  std::string position() const override;
  Status seek(std::string_view position) override;
  std::vector<std::string> folders() const override { return {}; }

 private:
  void claim(std::string_view owner);
  void write(const std::string& line);
  bool move_to_memory();
  std::string path_;
  Fd fd_;
  int64_t offset_ = 0, size_ = 0;
  bool in_memory_ = false;
  int64_t most_in_file_ = kMostInFile, most_in_memory_ = kMostInMemory;
  uint64_t lost_ = 0;
};

// One line: `time TAB name TAB value TAB step TAB epoch TAB checksum`, with \\, \t and \n for what would break it.
std::string journal_line(const MetricRow& row);
bool parse_journal_line(std::string_view line, MetricRow& out);

}  // namespace tacho
