#include "cromwell/analyze_samples.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <tuple>

#include "os/temporary_file.h"

namespace tacho {
namespace {

constexpr size_t kMergeBytes = size_t{12} << 20, kMostPieceBuffer = 64 * 1024, kLeastPieceBuffer = 8 * 1024;

// As it lies in memory and in the file; the disks follow.
struct SampleRecord {
  uint32_t attempt, run;
  int64_t time_us, seq;
  double cores, memory_gb;
  uint64_t disks;

  auto order() const { return std::tuple(attempt, time_us, run, seq); }
  size_t bytes() const { return sizeof(SampleRecord) + disks * sizeof(DiskSample); }
};

SampleRecord record_at(const char* at) {
  SampleRecord record;
  std::memcpy(&record, at, sizeof record);
  return record;
}

// Of one piece of the file.
class PieceReader {
 public:
  PieceReader(int fd, int64_t from, int64_t to, size_t buffer) : fd_(fd), at_(from), to_(to), room_(buffer) {}

  // The next record; at_end() tells when there is none.
  Status next() {
    used_ += used_ < text_.size() ? record_.bytes() : 0;
    if (text_.size() - used_ < sizeof(SampleRecord) || text_.size() - used_ < record_at(text_.data() + used_).bytes())
      if (const Status status = fill(); !status) return status;
    end_ = text_.size() - used_ < sizeof(SampleRecord);
    if (!end_) record_ = record_at(text_.data() + used_);
    return ok();
  }
  bool at_end() const { return end_; }
  const SampleRecord& record() const { return record_; }
  const char* disks() const { return text_.data() + used_ + sizeof(SampleRecord); }

 private:
  Status fill() {
    text_.erase(0, used_);
    used_ = 0;
    const size_t kept = text_.size();
    const size_t size = std::min<size_t>(room_, static_cast<size_t>(to_ - at_));
    text_.resize(kept + size);
    const auto got = read_at(fd_, text_.data() + kept, size, at_);
    if (!got) return got.error();
    if (*got != size) return Error{Code::io, "the temporary file is shorter than it was written", "", "try again"};
    at_ += static_cast<int64_t>(size);
    return ok();
  }

  int fd_;
  int64_t at_, to_;
  size_t room_, used_ = 0;
  std::string text_;
  SampleRecord record_{};
  bool end_ = false;
};

// Hands out what differs from the one before.
class OnceOnly {
 public:
  OnceOnly(const std::function<void(const TaskSample&)>& take, uint64_t& repeated) : take_(take), repeated_(repeated) {}
  void give(const SampleRecord& record, const char* disks) {
    const bool same =
        any_ && record.attempt == last_.attempt && record.time_us == last_.time_us && record.seq == last_.seq;
    any_ = true;
    last_ = record;
    if (same) {
      ++repeated_;
      return;
    }
    disks_.resize(record.disks);
    if (record.disks > 0) std::memcpy(disks_.data(), disks, record.disks * sizeof(DiskSample));
    take_({record.attempt, record.run, record.time_us, record.seq, record.cores, record.memory_gb, disks_});
  }

 private:
  const std::function<void(const TaskSample&)>& take_;
  uint64_t& repeated_;
  bool any_ = false;
  SampleRecord last_{};
  std::vector<DiskSample> disks_;
};

}  // namespace

Status SampleSorter::add(const TaskSample& sample) {
  const SampleRecord record{sample.attempt, sample.run,       sample.time_us,     sample.seq,
                            sample.cores,   sample.memory_gb, sample.disks.size()};
  const size_t held = bytes_.size() + records_.size() * sizeof(uint32_t);
  if (!records_.empty() && held + record.bytes() > memory_bytes_)
    if (const Status status = spill(); !status) return status;
  if (bytes_.capacity() == 0) bytes_.reserve(memory_bytes_);
  records_.push_back(static_cast<uint32_t>(bytes_.size()));
  bytes_.append(reinterpret_cast<const char*>(&record), sizeof record);
  bytes_.append(reinterpret_cast<const char*>(sample.disks.data()), sample.disks.size_bytes());
  return ok();
}

void SampleSorter::sort() {
  std::sort(records_.begin(), records_.end(), [&](uint32_t a, uint32_t b) {
    return record_at(bytes_.data() + a).order() < record_at(bytes_.data() + b).order();
  });
}

Status SampleSorter::spill() {
  if (!file_) {
    auto file = open_temporary_file();
    if (!file) return file.error();
    file_ = std::move(*file);
  }
  sort();
  const int64_t from = file_bytes_;
  std::string out;
  const auto flush = [&]() -> Status {
    const Status status = write_at(file_.get(), out.data(), out.size(), file_bytes_);
    file_bytes_ += static_cast<int64_t>(out.size());
    out.clear();
    return status;
  };
  for (const uint32_t at : records_) {
    out.append(bytes_, at, record_at(bytes_.data() + at).bytes());
    if (out.size() < kMostPieceBuffer) continue;
    if (const Status status = flush(); !status) return status;
  }
  if (const Status status = flush(); !status) return status;
  pieces_.push_back({from, file_bytes_});
  bytes_.clear();
  records_.clear();
  return ok();
}

Status SampleSorter::give(const std::function<void(const TaskSample&)>& take) {
  OnceOnly once(take, repeated_);
  if (pieces_.empty()) {
    sort();
    for (const uint32_t at : records_)
      once.give(record_at(bytes_.data() + at), bytes_.data() + at + sizeof(SampleRecord));
    bytes_ = {};
    records_ = {};
    return ok();
  }
  if (!records_.empty())
    if (const Status status = spill(); !status) return status;
  bytes_ = {};
  records_ = {};
  const size_t room = std::clamp(kMergeBytes / pieces_.size(), kLeastPieceBuffer, kMostPieceBuffer);
  std::vector<PieceReader> readers;
  const auto later = [&](size_t a, size_t b) { return readers[a].record().order() > readers[b].record().order(); };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> queue(later);
  for (const Piece& piece : pieces_) {
    readers.emplace_back(file_.get(), piece.from, piece.to, room);
    if (const Status status = readers.back().next(); !status) return status;
    if (!readers.back().at_end()) queue.push(readers.size() - 1);
  }
  while (!queue.empty()) {
    const size_t at = queue.top();
    queue.pop();
    once.give(readers[at].record(), readers[at].disks());
    if (const Status status = readers[at].next(); !status) return status;
    if (!readers[at].at_end()) queue.push(at);
  }
  file_ = {};
  return ok();
}

}  // namespace tacho
