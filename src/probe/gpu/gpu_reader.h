// The NVML reader: a process of tacho's own (os/companion.h, gpu_helper.h) that loads NVIDIA's library, which brings
// some 20 MiB along and may hang or crash. One a program, shared by the GPU probes. It is started without waiting for
// it; when it crashes or does not answer, GPU columns are empty and it is started again, once a minute at the most.
// GpuReader is for the sampling thread, a GpuChannel for that one and for the thread that asks.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/units.h"
#include "os/companion.h"
#include "os/fd.h"
#include "os/thread.h"
#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/gpu_nvidia.h"
#include "probe/gpu/gpu_vendor.h"
#include "probe/kit/probe.h"

namespace tacho {

struct ReaderLimits {
  int64_t patience_ns = 10 * kNsPerSec;        // for an answer
  int64_t first_patience_ns = 60 * kNsPerSec;  // for the first: without persistence mode every GPU starts for seconds
  int64_t pause_ns = kNsPerSec;                // before it is started again
  int64_t pace_ns = 60 * kNsPerSec;            // between two such starts; doubles while it never answers
};

// The connection to whichever reader runs now.
class GpuChannel {
 public:
  enum class Trouble { none, ended, late };
  struct Line {
    std::shared_ptr<const Fd> end;  // null: there is no reader
    int64_t epoch = 0;              // counts readers
    int64_t deadline_ns = 0;        // for an answer to what is asked now
  };

  explicit GpuChannel(const ReaderLimits& limits) : limits_(limits) {}
  // Of the thread that asks.
  Line line();
  void answered(const Line& line);
  void failed(const Line& line, Trouble trouble);
  void has_problem(std::string text);
  // Of the sampling thread.
  void connect(Fd end);
  void disconnect();
  Trouble trouble();
  bool has_answered();
  std::string take_problem();  // why the library cannot be loaded, once

 private:
  const ReaderLimits limits_;
  WaitLock wait_lock_;
  std::shared_ptr<const Fd> end_;
  int64_t epoch_ = 0;
  bool answered_ = false;
  Trouble trouble_ = Trouble::none;
  std::string problem_;
};

class GpuReader final : public GpuMinder {
 public:
  // The one of this program with these options; made when there is none.
  static std::shared_ptr<GpuReader> shared(const NvidiaOptions& options);
  static pid_t running_pid();  // of the shared one; 0: there is none

  explicit GpuReader(NvidiaOptions options, const ReaderLimits& limits = {});
  ~GpuReader() override;  // kills and reaps it; one that hangs in the driver is not waited for
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  // Once a tick: starts it when it is due, kills one that hangs, keeps it out of the job's tree, tells of trouble.
  void look_after(ProbeContext& context) override;
  // It broke down, or the library cannot be loaded, and that was told.
  bool in_trouble() const override { return in_trouble_; }
  pid_t pid() const { return pid_; }
  const std::shared_ptr<GpuChannel>& rounds() const { return rounds_; }
  const std::shared_ptr<GpuChannel>& counters() const { return counters_; }

 private:
  void start(ProbeContext& context, int64_t now_ns);
  void give_up(ProbeContext& context, GpuChannel::Trouble trouble, int64_t now_ns);
  void tell(ProbeContext& context, const std::string& text);

  NvidiaOptions options_;
  ReaderLimits limits_;
  std::shared_ptr<GpuChannel> rounds_, counters_;
  pid_t pid_ = 0;
  bool running_ = false, in_trouble_ = false, started_once_ = false;
  bool loads_ = true;  // as far as the reader that runs has told
  int64_t pace_ns_;
  int64_t next_start_ns_ = 0, restarted_ns_ = INT64_MIN / 2;
};

// The way to NVIDIA's driver: through the reader, or in this process where the program cannot be its own reader.
struct NvidiaAccess {
  std::shared_ptr<GpuReader> reader;
  std::shared_ptr<const NvmlLibrary> library;
  std::unique_ptr<GpuBackend> backend(const NvidiaOptions& options) const;
  std::unique_ptr<GpuCounterSource> counters(const NvidiaOptions& options) const;
};
// The error says why there is no library to load.
Result<NvidiaAccess> reach_nvidia(const NvidiaOptions& options, ProbeContext& context);

// How a reader is started: the program of gpu_helper.h, or this one.
CompanionOptions gpu_reader_companion(const std::string& program, const NvidiaOptions& options);

// First of all in main() of every program that has GPU probes. The reader's exit status when this process is to be one;
// nothing otherwise, and from then on the program may start itself as a reader.
std::optional<int> serve_as_gpu_reader(int argc, char** argv);
bool can_serve_as_gpu_reader();

}  // namespace tacho
