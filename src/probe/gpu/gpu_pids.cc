#include "probe/gpu/gpu_pids.h"

#include "base/text.h"

namespace tacho {
namespace {

// include/linux/proc_ns.h: PROC_PID_INIT_INO is 0xEFFFFFFC, on every kernel.
constexpr std::string_view kInitialNamespace = "pid:[4026531836]";

// "NSpid:\t4711\t12": the number in the namespace of this /proc first, in the process's own last. More than one means
// that this /proc is that of an outer namespace, and so are the numbers read from it.
bool outer_numbers(std::string_view status) {
  const size_t at = status.find("\nNSpid:");
  if (at == std::string_view::npos) return false;
  std::string_view line = status.substr(at + 7);
  line = trim(line.substr(0, line.find('\n')));
  return line.find('\t') != std::string_view::npos;
}

}  // namespace

GpuPids::GpuPids(const Roots& roots) : proc_(roots.proc) {
  if (read_link(proc_ + "/self/ns/pid") == kInitialNamespace) {
    initial_ = true;
    return;
  }
  const auto status = read_whole_file(proc_ + "/self/status", 1 << 20);
  initial_ = status && outer_numbers(*status);
}

void GpuPids::consider(pid_t pid) {
  if (trusted() || attempts_left_ == 0) return;
  --attempts_left_;
  const std::string folder = proc_ + "/" + std::to_string(pid) + "/fd";
  list_directory(folder, [&](std::string_view name) {
    if (!proved_) proved_ = read_link(folder + "/" + std::string(name)).starts_with("/dev/nvidia");
  });
}

}  // namespace tacho
