#include "probe/gpu/gpu_helper.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "os/companion.h"
#include "os/environment.h"
#include "os/process.h"
#include "os/sibling.h"
#include "probe/gpu/gpu_messages.h"
#include "probe/gpu/gpu_remote.h"

namespace tacho {
namespace {

constexpr int64_t kCheckPatienceNs = 2 * kNsPerSec;
constexpr const char* kWhereItBelongs =
    "install tacho-gpu of the same package in the folder of tacho, or name it in TACHO_GPU_HELPER";
#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_NONE;
#endif

// The loader that a program asks for; empty when it asks for none, or is no program of this kind.
std::string loader_of(int file, const Elf64_Ehdr& head) {
  for (Elf64_Half i = 0; i < head.e_phnum && i < 64; ++i) {
    Elf64_Phdr part{};
    const auto at = static_cast<off_t>(head.e_phoff + uint64_t{i} * head.e_phentsize);
    if (::pread(file, &part, sizeof part, at) != static_cast<ssize_t>(sizeof part)) return "";
    if (part.p_type != PT_INTERP) continue;
    std::array<char, 256> text{};
    const ssize_t got = ::pread(file, text.data(), text.size() - 1, static_cast<off_t>(part.p_offset));
    return got > 0 ? std::string(text.data()) : "";
  }
  return "";
}

}  // namespace

std::string gpu_helper() {
  if (std::string chosen = environment_or("TACHO_GPU_HELPER"); !chosen.empty()) return chosen;
#ifdef TACHO_STATIC
  return sibling_path(kGpuReaderName);
#else
  return "";
#endif
}

Status check_gpu_helper(const std::string& path) {
  if (!path.starts_with('/'))
    return Error{Code::io, "the program that reads NVIDIA's driver must be named by a whole path", path,
                 "write TACHO_GPU_HELPER=/…/tacho-gpu"};
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || ::access(path.c_str(), X_OK) != 0)
    return Error{Code::io,
                 std::string("NVIDIA's library is here, but the program that reads it for a static tacho ") +
                     (errno == ENOENT ? "is not" : "cannot be executed"),
                 path, kWhereItBelongs};
  Elf64_Ehdr head{};
  if (::pread(file.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head) ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return ok();  // a script, perhaps: the kernel knows
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || (kMachine != EM_NONE && head.e_machine != kMachine))
    return Error{Code::io, "this program is for another kind of machine", path, kWhereItBelongs};
  if (const std::string loader = loader_of(file.get(), head); !loader.empty() && ::access(loader.c_str(), X_OK) != 0)
    return Error{Code::io, "tacho-gpu needs glibc's loader, which is not here", loader,
                 "NVIDIA's library needs glibc too: record on the machine, or in an image with glibc"};
  return ok();
}

Status ask_gpu_helper(const std::string& path, const NvidiaOptions& options) {
  if (const Status can = check_gpu_helper(path); !can) return can.error();
  auto companion = start_companion(gpu_reader_companion(path, options));
  if (!companion) return companion.error();
  const auto channel = std::make_shared<GpuChannel>(ReaderLimits{kCheckPatienceNs, kCheckPatienceNs});
  channel->connect(std::move(companion->channels[0]));
  std::vector<GpuSample> samples;
  const GpuState state = RemoteNvidia(channel).sample({}, samples);
  const GpuChannel::Trouble trouble = channel->trouble();
  const std::string problem = channel->take_problem();
  channel->disconnect();
  if (!companion_ended(companion->pid)) kill_companion(companion->pid);
  reap_soon(companion->pid, kCheckPatienceNs);
  if (!problem.empty()) return Error{Code::not_available, problem, "", "check that nvidia-smi works for this user"};
  if (trouble == GpuChannel::Trouble::late)
    return Error{Code::io, "the NVIDIA driver does not answer", path, "see dmesg; a reset or reboot may help"};
  if (trouble == GpuChannel::Trouble::ended)
    return Error{Code::io, "tacho-gpu ends when it is started", path,
                 "it needs glibc 2.17 or newer; run it by hand to see what the loader says"};
  if (state == GpuState::failed)
    return Error{Code::not_available, "the NVIDIA driver refuses", "", "check that nvidia-smi works for this user"};
  return ok();
}

}  // namespace tacho
