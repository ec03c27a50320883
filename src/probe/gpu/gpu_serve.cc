// The reader's side of gpu_reader.h: a whole process that does nothing but ask NVML. Rounds are answered on its main
// thread, the slow counters on a second one at their own pace; either ends the process when the agent is gone.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "os/companion.h"
#include "os/sibling.h"
#include "probe/gpu/gpu_messages.h"
#include "probe/gpu/gpu_nvidia_slow.h"
#include "probe/gpu/gpu_reader.h"

namespace tacho {
namespace {

constexpr int kRoundsFd = 3, kCountersFd = 4;

bool& may_serve() {
  static bool value = false;
  return value;
}

template <size_t kSize>
void put_text(std::array<char, kSize>& out, const std::string& text) {
  std::memcpy(out.data(), text.data(), std::min(text.size(), kSize - 1));
}

[[noreturn]] void leave() { std::_Exit(0); }

void say(int fd, std::span<const std::byte> head, std::span<const std::byte> rest = {}) {
  if (!send_packet(fd, head, rest, kNoDeadline)) leave();
}

class RoundServer {
 public:
  explicit RoundServer(const NvidiaOptions& options) : options_(options) {
    auto library = load_nvml();
    if (library) {
      backend_ = std::make_unique<NvidiaBackend>(*library, options);
      return;
    }
    ProblemMessage problem;
    put_text(problem.text, library.error().message());
    say(kRoundsFd, bytes_of(problem));
  }

  void serve() {
    listen();
    samples_.clear();
    RoundAnswer answer;
    // The library without a driver is a machine without a GPU; with one, a fault.
    answer.state = nvidia_nodes_present(options_) ? GpuState::failed : GpuState::none;
    if (backend_ != nullptr) {
      answer.state = backend_->sample(request_, samples_);
      answer.pids = backend_->pid_mapping();
      tell_identities();
      tell_holders();
    }
    if (samples_.size() > kMostDevices) samples_.resize(kMostDevices);
    answer.devices = static_cast<uint32_t>(samples_.size());
    say(kRoundsFd, bytes_of(answer), std::as_bytes(std::span(samples_)));
    if (request_.detail && backend_ != nullptr) backend_->refresh_detail();
  }

 private:
  void listen() {
    request_.pids.clear();
    do {
      const ssize_t received = receive_packet(kRoundsFd, buffer_, kNoDeadline);
      if (received < static_cast<ssize_t>(sizeof question_)) leave();
      std::memcpy(&question_, buffer_.data(), sizeof question_);
      const size_t count = (static_cast<size_t>(received) - sizeof question_) / sizeof(pid_t);
      const size_t before = request_.pids.size();
      request_.pids.resize(before + count);
      if (count > 0) std::memcpy(&request_.pids[before], buffer_.data() + sizeof question_, count * sizeof(pid_t));
    } while (question_.more);
    request_.job = question_.job;
    request_.detail = question_.detail;
  }

  void tell_identities() {
    auto identities = backend_->identities();
    if (identities == told_ || identities == nullptr) return;
    told_ = std::move(identities);
    const size_t count = std::min(told_->size(), kMostDevices);
    for (size_t i = 0; i < count; ++i) {
      const GpuIdentity& identity = (*told_)[i];
      IdentityMessage message;
      message.index = static_cast<uint32_t>(i);
      message.count = static_cast<uint32_t>(count);
      message.core_count = identity.core_count;
      message.vram_total_bytes = identity.vram_total_bytes;
      put_text(message.uuid, identity.uuid);
      put_text(message.name, identity.name);
      put_text(message.driver_version, identity.driver_version);
      put_text(message.pci_bus_id, identity.pci_bus_id);
      say(kRoundsFd, bytes_of(message));
    }
  }

  void tell_holders() {
    auto holders = backend_->holders();
    if (holders.empty()) return;
    holders = holders.first(std::min(holders.size(), kMostHolders));
    const HoldersMessage message{Topic::holders, static_cast<uint32_t>(holders.size())};
    say(kRoundsFd, bytes_of(message), std::as_bytes(holders));
  }

  const NvidiaOptions& options_;
  std::unique_ptr<NvidiaBackend> backend_;
  std::shared_ptr<const std::vector<GpuIdentity>> told_;
  RoundQuestion question_;
  GpuRequest request_;
  std::vector<GpuSample> samples_;
  std::array<std::byte, sizeof(RoundQuestion) + kPidsInAPacket * sizeof(pid_t)> buffer_;
};

[[noreturn]] void serve_counters(const NvidiaOptions& options) {
  std::unique_ptr<NvidiaCounters> counters;
  bool loaded = false;
  for (int64_t next_ns = 0;;) {
    std::byte question{};
    const ssize_t received = receive_packet(kCountersFd, std::span(&question, 1), next_ns == 0 ? kNoDeadline : next_ns);
    if (received == 0) leave();
    if (!std::exchange(loaded, true))
      if (auto library = load_nvml()) counters = std::make_unique<NvidiaCounters>(*library, options);
    GpuCounters now;
    if (counters != nullptr) {
      counters->read(received > 0, now);
      next_ns = counters->next_ns();
    }
    if (received > 0) say(kCountersFd, bytes_of(now));
  }
}

// Whoever started this speaks otherwise: what it reads would be garbage.
int refuse_stranger() {
  ProblemMessage problem;
  put_text(problem.text, "tacho-gpu is of another version than tacho; install both from one package");
  say(kRoundsFd, bytes_of(problem));
  return 1;
}

}  // namespace

bool can_serve_as_gpu_reader() { return may_serve(); }

std::optional<int> serve_as_gpu_reader(int argc, char** argv) {
  may_serve() = true;
  const std::string_view name = argc == 5 ? argv[0] : "", source = argc == 5 ? argv[1] : "";
  if (name != kGpuReaderName || source != "nvml") return std::nullopt;
  settle_as_companion(kGpuReaderName);
  if (argv[4] != gpu_message_layout()) return refuse_stranger();
  NvidiaOptions options;
  options.roots.proc = argv[2];
  options.interval_ns = parse_int<int64_t>(argv[3]).value_or(options.interval_ns);
  if (!start_detached_thread("tacho-gpu-slow", [options] { serve_counters(options); })) return 1;
  const auto server = std::make_unique<RoundServer>(options);
  for (;;) server->serve();
}

}  // namespace tacho
