#include "report/live_processes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "codec/csv_text.h"
#include "os/fd.h"

namespace tacho {
namespace {

constexpr size_t kFieldCount = 13;
enum { kPid, kParent, kName, kCommand, kStarted, kEnded, kCount, kCpu, kPeak, kRead, kWritten, kVram };

double number_or_absent(const std::string& text) {
  const auto value = parse_double(text);
  return value && *value >= 0 ? *value : kAbsent;
}

}  // namespace

bool LiveProcesses::read() {
  // Somebody may have put anything there: neither a link is followed nor a FIFO waited for.
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  bool changed = false;
  if (facts.st_ino != inode_ || facts.st_dev != device_ || facts.st_size < at_) {
    known_.clear();
    rest_.clear();
    inode_ = facts.st_ino;
    device_ = facts.st_dev;
    at_ = 0;
    changed = true;
  }
  std::array<char, 64 * 1024> piece;
  while (at_ < facts.st_size) {
    const ssize_t count = ::pread(file.get(), piece.data(), piece.size(), at_);
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
  std::array<std::string, kFieldCount> fields;
  for (size_t i = 0; i < kFieldCount; ++i) fields[i] = csv_value(csv_field(line, i));
  const auto pid = parse_int<pid_t>(fields[kPid]);
  if ((!pid && !fields[kPid].empty()) || fields[kName].empty()) return;  // the header among them
  const std::pair<pid_t, std::string> key{pid.value_or(0), pid ? fields[kStarted] : fields[kName]};
  if (known_.size() >= kMost && !known_.contains(key)) return;
  Known& known = known_[key];
  known.ended = !fields[kEnded].empty() || !pid;
  known.process = {pid.value_or(0), parse_int<pid_t>(fields[kParent]).value_or(0),
                   fields[kCommand].empty() ? fields[kName] : fields[kCommand], number_or_absent(fields[kCpu])};
  if (const auto count = parse_int<int64_t>(fields[kCount]); count && *count > 1)
    known.process.name += " (" + std::to_string(*count) + " processes)";
  known.process.memory_bytes = number_or_absent(fields[kPeak]) * static_cast<double>(kMiB);
  known.process.io_bytes = number_or_absent(fields[kRead]) + number_or_absent(fields[kWritten]);
  known.process.gpu_bytes = number_or_absent(fields[kVram]) * static_cast<double>(kMiB);
}

std::vector<LiveProcess> LiveProcesses::list(bool all) const {
  std::vector<LiveProcess> processes;
  for (const auto& [key, known] : known_)
    if (all || !known.ended) processes.push_back(known.process);
  return processes;
}

}  // namespace tacho
