#include "report/live/live_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "os/file.h"
#include "report/store/process_lines.h"

namespace tacho {

bool LiveProcesses::read() {
  const auto file = open_plain_file(path_);
  struct stat facts {};
  if (!file || ::fstat(file->get(), &facts) != 0) return false;
  bool changed = false;
  if (facts.st_ino != inode_ || facts.st_dev != device_ || facts.st_size < at_) {
    known_.clear();
    rest_.clear();
    unnumbered_ = 0;
    inode_ = facts.st_ino;
    device_ = facts.st_dev;
    at_ = 0;
    changed = true;
  }
  std::array<char, 64 * 1024> piece;
  const off_t end = std::min<off_t>(facts.st_size, kMostBytes);
  while (at_ < end) {
    const ssize_t count = ::pread(file->get(), piece.data(), piece.size(), at_);
    if (count <= 0) break;
    at_ += count;
    take({piece.data(), static_cast<size_t>(count)});
    changed = true;
  }
  return changed;
}

void LiveProcesses::take(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (rest_.size() <= kLongestLine) rest_ += text.substr(0, std::min(end, kLongestLine + 1));
    if (end == std::string_view::npos) return;
    if (rest_.size() <= kLongestLine) take_line(rest_);
    rest_.clear();
    text.remove_prefix(end + 1);
  }
}

void LiveProcesses::take_line(std::string_view line) {
  ProcessLine read;
  if (!read_process_line(line, read)) return;
  // Without a number (merged, or hidden) there is one line, when it has ended: each is by itself.
  const bool unnumbered = read.pid == 0;
  const std::pair key{read.pid, unnumbered                ? static_cast<double>(++unnumbered_)
                                : is_absent(read.started) ? 0
                                                          : read.started};
  if (known_.size() >= kMost && !known_.contains(key)) return;
  Known& known = known_[key];
  known.ended = !is_absent(read.ended) || unnumbered;
  known.process = {static_cast<pid_t>(read.pid), static_cast<pid_t>(read.ppid),
                   read.command.empty() ? read.name : read.command, read.cpu_s};
  if (read.count > 1) known.process.name += " (" + std::to_string(read.count) + " processes)";
  known.process.memory_bytes = read.peak_mib * static_cast<double>(kMiB);
  known.process.io_bytes = read.read_bytes + read.written_bytes;
  known.process.gpu_bytes = read.vram_mib * static_cast<double>(kMiB);
}

std::vector<LiveProcess> LiveProcesses::list(bool all) const {
  std::vector<LiveProcess> processes;
  for (const auto& [key, known] : known_)
    if (all || !known.ended) processes.push_back(known.process);
  return processes;
}

}  // namespace tacho
