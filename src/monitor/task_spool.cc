#include "monitor/task_spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/mounts.h"
#include "os/timespec.h"
#include "spool/bq_record.h"
#include "spool/reader.h"

namespace tacho {
namespace {

constexpr int64_t kDiskCap = 256 * kMiB;
constexpr int64_t kTaskSegmentBytes = kMiB / 2;  // one is held in memory while it is thinned out
constexpr char kMetrics = 'M';
// What a disk that vanishes takes along is held here too, until it is sent: the last moments as they are, older ones
// packed.
constexpr size_t kHeldSegments = 4;
constexpr int64_t kHeldBytes = kMiB / 4;  // of one

}  // namespace

std::vector<std::string> task_spool_roots(const std::string& named, const std::string& working_mount) {
  std::vector<std::string> roots;
  const auto add = [&](std::string root) {
    while (root.size() > 1 && root.back() == '/') root.pop_back();
    if (root.starts_with('/') && std::find(roots.begin(), roots.end(), root) == roots.end())
      roots.push_back(std::move(root));
  };
  const std::string own = "tacho-" + std::to_string(::getuid());
  if (!named.empty()) add(private_root(named.starts_with('/') ? named : read_link("/proc/self/cwd") + "/" + named));
  // Hidden: nothing that Cromwell or a glob of the task takes for an output. The root of a machine is nobody's working
  // disk. One that is not there is not made: a disk that is mounted later would hide what lies there.
  if (!working_mount.empty() && working_mount != "/" && file_exists(working_mount)) add(working_mount + "/." + own);
  std::string temporary = environment_or("TMPDIR", "/tmp");
  while (temporary.ends_with('/')) temporary.pop_back();
  add(temporary + "/" + own);
  add("/dev/shm/" + own);
  return roots;
}

TaskSpool::TaskSpool(TaskSpoolOptions options, std::string utc) : options_(std::move(options)), utc_(std::move(utc)) {}

bool TaskSpool::open() {
  if (writer_) return true;
  auto writer = SpoolWriter::create(options_.roots, utc_);
  if (!writer) {
    if (!std::exchange(told_no_place_, true))
      log::error("rows are kept in memory only: " + writer.error().message() + "; name a folder with --spool-dir");
    return false;
  }
  writer_ = std::move(*writer);
  writer_->set_ending(kRecordsEnding);
  return true;
}

// The deliverer leaves the folder alone until the end: when it is not there its disk is gone, or somebody removed it.
// Whatever is sealed or sent changes the folder, so that a tick mostly costs one call.
void TaskSpool::look_for_folder() {
  if (!writer_) return;
  struct stat info {};
  if (::stat(writer_->folder().c_str(), &info) != 0) return move_away();
  const int64_t changed_ns = as_ns(info.st_mtim);
  if (std::exchange(folder_changed_ns_, changed_ns) != changed_ns) forget_lines();
}

// What is sent need not be held: it would go twice.
void TaskSpool::forget_lines() {
  for (size_t i = sealed_.size() - std::min(sealed_.size(), kHeldSegments); i < sealed_.size(); ++i) {
    if (!sealed_[i].lines.empty() && is_sent(sealed_[i].number)) sealed_[i].lines.clear();
  }
  packed_.forget_oldest([this](uint32_t number) { return is_sent(number); });
}

// An acknowledged segment is removed by tacho-deliver.
bool TaskSpool::is_sent(uint32_t number) const {
  const std::string name = segment_name(number, kRecordsEnding);
  const std::vector<std::string>& folders = writer_->folders();
  const auto is_there = [&](const std::string& folder) { return file_exists(folder + "/" + name); };
  return std::none_of(folders.begin(), folders.end(), is_there);
}

void TaskSpool::pack(Sealed& segment) {
  if (!packed_.is_empty()) packed_.forget_all([this](uint32_t number) { return is_sent(number); });
  if (segment.lines.empty() || is_sent(segment.number)) return segment.lines.clear();
  std::string records;
  for (const Line& line : segment.lines) records += line.text;
  packed_.add(segment.number, records);
  segment.lines = {};
}

void TaskSpool::move_away() {
  const std::string gone = writer_->folder();
  log::error("the folder of the spool is gone: " + gone + "; the rows from now on are kept in another one");
  std::deque<Line> lines;
  packed_.take([&](std::string_view some) {
    BqRecords records(some);
    for (BqRecord record; records.next(record);) lines.push_back({record.table, std::string(record.line)});
  });
  for (Sealed& segment : sealed_)
    for (Line& line : segment.lines) lines.push_back(std::move(line));
  for (Line& line : unsealed_) lines.push_back(std::move(line));
  for (Line& line : ring_) lines.push_back(std::move(line));
  ring_ = std::move(lines);
  ring_bytes_ = 0;
  for (const Line& line : ring_) ring_bytes_ += static_cast<int64_t>(line.text.size() + sizeof(Line));
  std::erase(options_.roots, gone.substr(0, gone.rfind('/')));
  writer_.reset();
  sealed_.clear();
  unsealed_.clear();
  sealed_bytes_ = cap_bytes_ = 0;
  meta_written_ = false;
  moved_ = true;
}

bool TaskSpool::write(const Line& line) {
  if (!writer_->append(line.text)) return false;
  unsealed_.push_back(line);
  return true;
}

Status TaskSpool::write_meta() {
  look_for_folder();
  if (!open()) return Error{Code::io, "there is no place for the spool", "", ""};
  if (meta_written_) return ok();
  const Status status = writer_->write_meta(meta_, false);
  if (status) disk_.request(writer_->meta_folder(), {std::string(kMetaName)});
  meta_written_ = static_cast<bool>(status);
  return status;
}

void TaskSpool::append(char table, int64_t time_us, std::string_view row) {
  look_for_folder();
  line_.clear();
  write_bq_record(line_, table, time_us, row);
  // Rows keep their order: while older ones wait in memory, newer ones wait behind them.
  if (!ring_.empty() || !writer_ || !write({table, std::string(line_.view())})) keep(table, line_.view());
  else if (writer_->open_bytes() >= kTaskSegmentBytes) seal();
}

void TaskSpool::keep(char table, std::string_view line) {
  if (writer_ && !std::exchange(told_full_, true))
    log::error("the spool takes no more rows; the next ones are kept in memory (make room on the disk of " +
               writer_->folder() + ")");
  ring_.push_back({table, std::string(line)});
  ring_bytes_ += static_cast<int64_t>(line.size() + sizeof(Line));
  if (ring_bytes_ > options_.memory_bytes) thin_ring();
}

void TaskSpool::thin_ring() {
  bool leave_out = true;
  std::deque<Line> rest;
  ring_bytes_ = 0;
  for (Line& line : ring_) {
    if (line.table == kMetrics) {
      leave_out = !leave_out;
      if (leave_out) {
        ++dropped_;
        continue;
      }
    }
    ring_bytes_ += static_cast<int64_t>(line.text.size() + sizeof(Line));
    rest.push_back(std::move(line));
  }
  ring_ = std::move(rest);
}

// What waits in memory goes to disk as soon as it can.
bool TaskSpool::drain() {
  if (!open()) return false;
  while (!ring_.empty()) {
    if (!write(ring_.front())) return false;
    ring_bytes_ -= static_cast<int64_t>(ring_.front().text.size() + sizeof(Line));
    ring_.pop_front();
    if (writer_->open_bytes() >= kTaskSegmentBytes && !seal()) return false;
  }
  told_full_ = false;
  if (std::exchange(moved_, false)) give_back_memory();
  return true;
}

bool TaskSpool::seal() {
  if (writer_ == std::nullopt || writer_->open_rows() == 0) {
    if (ring_.empty() || !drain()) return false;
  }
  const int64_t bytes = writer_->open_bytes();
  const uint32_t number = writer_->open_number();
  const std::string name = writer_->sealed_name();
  if (writer_->open_rows() == 0) return true;  // drained and sealed on the way
  const Status status = writer_->seal(false);
  if (!status) {
    log::warn(status.error());
    return false;
  }
  disk_.request(writer_->current_folder(), {name});
  if (bytes > kHeldBytes) unsealed_.clear();
  sealed_.push_back({number, bytes, std::move(unsealed_)});
  unsealed_.clear();
  if (sealed_.size() > kHeldSegments) pack(sealed_[sealed_.size() - 1 - kHeldSegments]);
  sealed_bytes_ += bytes;
  bound();
  if (!ring_.empty()) drain();
  return true;
}

int64_t TaskSpool::cap() const {
  if (writer_->in_memory()) return options_.memory_bytes;
  if (options_.cap_bytes > 0) return options_.cap_bytes;
  if (cap_bytes_ == 0) {
    Space space;
    cap_bytes_ = read_space(writer_->folder().c_str(), space) ? std::min(kDiskCap, space.total_bytes / 100) : kDiskCap;
  }
  return cap_bytes_;
}

void TaskSpool::forget_sent() {
  std::erase_if(sealed_, [this](const Sealed& segment) { return is_sent(segment.number); });
  sealed_bytes_ = 0;
  for (const Sealed& segment : sealed_) sealed_bytes_ += segment.bytes;
}

void TaskSpool::bound() {
  if (sealed_bytes_ <= cap()) return;
  forget_sent();
  // The oldest are thinned out first; when all of them are, a second time.
  for (int round = 0; round < 32 && sealed_bytes_ > cap(); ++round) {
    const int64_t before = sealed_bytes_;
    for (Sealed& segment : sealed_) {
      thin(segment);
      if (sealed_bytes_ <= cap()) break;
    }
    if (sealed_bytes_ == before) break;  // events only, or all of it is being sent
  }
}

bool TaskSpool::thin(Sealed& segment) {
  for (const std::string& folder : writer_->folders()) {
    const auto place = OwnedFolder::open(folder);
    const std::string name = segment_name(segment.number, kRecordsEnding);
    const auto file = place ? place->open_file(name, O_RDONLY) : Result<Fd>(place.error());
    // The deliverer holds it while it sends.
    if (!file || ::flock(file->get(), LOCK_EX | LOCK_NB) != 0) continue;
    const auto text = place->read(name);
    if (!text) continue;
    int64_t rows = 0, dropped = 0;
    const std::string rest = thinned(*text, rows, dropped);
    if (dropped == 0) return false;
    const Segment sealed{{segment.number, segment.bytes, 0, 0}, place->path_of(name)};
    if (!SpoolRun(folder).replace(sealed, rest, rows)) return false;
    dropped_ += dropped;
    segment.lines.clear();
    packed_.forget(segment.number);
    sealed_bytes_ -= segment.bytes - static_cast<int64_t>(rest.size());
    segment.bytes = static_cast<int64_t>(rest.size());
    return true;
  }
  return false;
}

std::string thinned(std::string_view records, int64_t& rows, int64_t& dropped) {
  std::string rest;
  bool leave_out = true;
  BqRecords lines(records);
  for (BqRecord record; lines.next(record);) {
    if (record.table == kMetrics) {
      leave_out = !leave_out;
      if (leave_out) {
        ++dropped;
        continue;
      }
    }
    rest += record.line;
    ++rows;
  }
  return rest;
}

}  // namespace tacho
