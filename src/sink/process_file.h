// <run folder>/processes.csv. While the run goes on lines are appended: one when a process is first seen, one when it
// ended, and now and then one for who lives on; the last line of a process counts. All lines of a tick are one write.
// When lines that no longer count have piled up, and at the end, a new file with one line a process takes its place; a
// file that has no line yet is completed instead. A command is not held in memory: it is read again from the last line
// of its process. Not thread-safe; no allocation in a tick without news.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/writer.h"
#include "os/fd.h"
#include "os/owned_folder.h"
#include "sink/process_table.h"

namespace tacho {

inline constexpr char kProcessFileName[] = "processes.csv";

class ProcessFile {
 public:
  // A new file in a folder of ours. most: lines of the finished file besides (short-lived) and (other), at least 1.
  static Result<ProcessFile> create(const std::string& folder, size_t most);

  // A line for flush(); command is a field with its quotes (codec/process_csv.h).
  void put(ProcessRecord& record, std::string_view command);
  // The same with the command of its last line.
  void put_again(ProcessRecord& record);
  // A last line, and the record is kept.
  void end(ProcessRecord record);

  // What was put since, in one write. A disk that is full is tried again at the next one.
  Status flush();

  // Calls its argument for every process that lives; where its line will be is told through the record.
  using Living = std::function<void(const std::function<void(ProcessRecord&)>& visit)>;
  // Lines that do not count have piled up.
  bool is_long() const { return lines_ > 2 * table_.most() + kSpareLines; }
  Status shorten(const Living& living);
  // One line a process, and the time that none of them has. Nothing may be put afterwards.
  Status finish(const Living& living, int64_t job_cpu_ns);

 private:
  Error cannot_write(const Error& why) const;  // with the name of the file
  static constexpr size_t kSpareLines = 1000;
  static constexpr size_t kMostPending = 256 * 1024;  // of text that the disk did not take yet

  ProcessFile(OwnedFolder folder, Fd fd, size_t most) : folder_(std::move(folder)), fd_(std::move(fd)), table_(most) {}
  bool has_no_lines() const;  // on the disk, but the header
  std::string_view command_of(const ProcessRecord& record);
  void write_line(ProcessRecord& record, std::string_view name, std::string_view command);
  class Rewrite;

  OwnedFolder folder_;
  Fd fd_;
  ProcessTable table_;
  Writer pending_{16 * 1024};
  uint64_t written_ = 0;  // bytes in the file, where pending_ begins
  size_t lines_ = 0;      // since the last rewrite
  std::array<char, 2048> line_;
};

}  // namespace tacho
