#include "probe/gpu/gpu_reader.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/process.h"
#include "os/sibling.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/gpu/gpu_messages.h"
#include "probe/gpu/gpu_nvidia_slow.h"
#include "probe/gpu/gpu_remote.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr int64_t kLongestPaceNs = 3600 * kNsPerSec;
constexpr int64_t kEndPatienceNs = 500 * kNsPerMs;  // to give back what it had of the driver

std::weak_ptr<GpuReader>& the_reader() {
  static std::weak_ptr<GpuReader> reader;
  return reader;
}

}  // namespace

GpuChannel::Line GpuChannel::line() {
  const int64_t now_ns = system_clock().monotonic_ns();
  const std::lock_guard lock(wait_lock_);
  return {end_, epoch_, now_ns + (answered_ ? limits_.patience_ns : limits_.first_patience_ns)};
}

void GpuChannel::answered(const Line& line) {
  const std::lock_guard lock(wait_lock_);
  answered_ = answered_ || line.epoch == epoch_;
}

void GpuChannel::failed(const Line& line, Trouble trouble) {
  const std::lock_guard lock(wait_lock_);
  if (line.epoch != epoch_ || end_ == nullptr) return;  // known already
  trouble_ = trouble;
  end_.reset();
}

void GpuChannel::has_problem(std::string text) {
  const std::lock_guard lock(wait_lock_);
  problem_ = std::move(text);
}

void GpuChannel::connect(Fd end) {
  const std::lock_guard lock(wait_lock_);
  end_ = std::make_shared<const Fd>(std::move(end));
  ++epoch_;
  answered_ = false;
  trouble_ = Trouble::none;
  problem_.clear();
}

void GpuChannel::disconnect() {
  const std::lock_guard lock(wait_lock_);
  end_.reset();
}

GpuChannel::Trouble GpuChannel::trouble() {
  const std::lock_guard lock(wait_lock_);
  return trouble_;
}

bool GpuChannel::has_answered() {
  const std::lock_guard lock(wait_lock_);
  return answered_;
}

std::string GpuChannel::take_problem() {
  const std::lock_guard lock(wait_lock_);
  return std::exchange(problem_, {});
}

std::shared_ptr<GpuReader> GpuReader::shared(const NvidiaOptions& options) {
  auto reader = the_reader().lock();
  const auto same = [&](const NvidiaOptions& other) {
    return other.roots.proc == options.roots.proc && other.interval_ns == options.interval_ns;
  };
  if (reader != nullptr && same(reader->options_)) return reader;
  reader = std::make_shared<GpuReader>(options);
  the_reader() = reader;
  return reader;
}

pid_t GpuReader::running_pid() {
  const auto reader = the_reader().lock();
  return reader != nullptr ? reader->pid() : 0;
}

GpuReader::GpuReader(NvidiaOptions options, const ReaderLimits& limits)
    : options_(std::move(options)),
      limits_(limits),
      rounds_(std::make_shared<GpuChannel>(limits)),
      counters_(std::make_shared<GpuChannel>(limits)),
      pace_ns_(limits.pace_ns) {}

GpuReader::~GpuReader() {
  rounds_->disconnect();
  counters_->disconnect();
  if (pid_ <= 0 || companion_ended(pid_)) return;
  kill_companion(pid_);
  reap_soon(pid_, kEndPatienceNs);  // PID 1 of a container may be a program that never reaps
}

void GpuReader::tell(ProbeContext& context, const std::string& text) {
  in_trouble_ = true;
  context.note(text);
  log::warn(text);
}

CompanionOptions gpu_reader_companion(const std::string& program, const NvidiaOptions& options) {
  CompanionOptions companion;
  companion.program = program;
  companion.arguments = {kGpuReaderName, "nvml", options.roots.proc, std::to_string(options.interval_ns),
                         gpu_message_layout()};
  companion.remove_environment = secret_variables();
  companion.channels = 2;
  return companion;
}

void GpuReader::start(ProbeContext& context, int64_t now_ns) {
  if (std::exchange(started_once_, true)) restarted_ns_ = now_ns;
  auto companion = start_companion(gpu_reader_companion(gpu_helper(), options_));
  if (!companion) {
    next_start_ns_ = now_ns + limits_.pace_ns;
    return tell(context, "GPU columns are empty at times: " + companion.error().message() +
                             "; raise the limits of processes and of open files (ulimit -u, ulimit -n)");
  }
  pid_ = companion->pid;
  running_ = loads_ = true;
  rounds_->connect(std::move(companion->channels[0]));
  counters_->connect(std::move(companion->channels[1]));
}

void GpuReader::give_up(ProbeContext& context, GpuChannel::Trouble trouble, int64_t now_ns) {
  const bool lived = rounds_->has_answered() || counters_->has_answered();
  running_ = false;
  rounds_->disconnect();
  counters_->disconnect();
  if (lived) pace_ns_ = limits_.pace_ns;
  next_start_ns_ = std::max(now_ns + limits_.pause_ns, restarted_ns_ + pace_ns_);
  if (!lived) pace_ns_ = std::min(2 * pace_ns_, kLongestPaceNs);
  std::string why = rounds_->take_problem();
  if (why.empty())
    why = trouble == GpuChannel::Trouble::late ? "the NVIDIA driver did not answer for seconds"
                                               : "the process that reads the NVIDIA driver ended";
  tell(context, "GPU columns were empty at times: " + why +
                    "; tacho tries again, once a minute at the most; see dmesg and tacho doctor");
}

void GpuReader::look_after(ProbeContext& context) {
  if (running_) {
    const GpuChannel::Trouble trouble = std::max(rounds_->trouble(), counters_->trouble());
    if (trouble == GpuChannel::Trouble::none) {
      if (context.tree != nullptr) context.tree->exclude(pid_);
      if (const std::string problem = rounds_->take_problem(); !problem.empty()) {
        loads_ = false;
        // Without device nodes that is a machine without a GPU.
        if (nvidia_nodes_present(options_)) context.note("GPU columns are empty: " + problem);
      }
      in_trouble_ = !loads_ || (in_trouble_ && !rounds_->has_answered());
      return;
    }
    give_up(context, trouble, system_clock().monotonic_ns());
  }
  if (pid_ > 0) {
    if (!companion_ended(pid_)) return kill_companion(pid_);  // one that cannot even be killed gets no successor
    if (context.tree != nullptr) context.tree->include_again(pid_);
    pid_ = 0;
  }
  const int64_t now_ns = system_clock().monotonic_ns();
  if (now_ns < next_start_ns_) return;
  start(context, now_ns);
  if (context.tree != nullptr && pid_ > 0) context.tree->exclude(pid_);
}

std::unique_ptr<GpuBackend> NvidiaAccess::backend(const NvidiaOptions& options) const {
  if (reader != nullptr) return std::make_unique<RemoteNvidia>(reader->rounds());
  return std::make_unique<NvidiaBackend>(library, options);
}

std::unique_ptr<GpuCounterSource> NvidiaAccess::counters(const NvidiaOptions& options) const {
  if (reader != nullptr) return std::make_unique<RemoteCounters>(reader->counters());
  return std::make_unique<NvidiaCounters>(library, options);
}

Result<NvidiaAccess> reach_nvidia(const NvidiaOptions& options, ProbeContext& context) {
  NvidiaAccess access;
  if (!can_serve_as_gpu_reader()) {
    auto library = load_nvml();
    if (!library) return library.error();
    access.library = std::move(*library);
    return access;
  }
  if (const Status found = find_nvml(); !found) return found.error();
  if (const std::string helper = gpu_helper(); !helper.empty())
    if (const Status can = check_gpu_helper(helper); !can) return can.error();
  access.reader = GpuReader::shared(options);
  access.reader->look_after(context);
  return access;
}

}  // namespace tacho
