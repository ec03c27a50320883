// What the agent and its NVML reader say to each other, in packets. Both are built
// from the same sources (gpu_message_layout() tells), so plain structures do.
// A round: the agent sends a question (with the job's pids, in several packets where they are many), the reader answers
// with what changed and then with the round itself. Counters: any byte, answered by a GpuCounters.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/gpu_device.h"
#include "probe/gpu/nvml_api.h"

namespace tacho {

inline constexpr size_t kPidsInAPacket = 8192;
inline constexpr size_t kMostHolders = 1000;

struct RoundQuestion {  // followed by pids
  bool job = false, detail = false;
  bool more = false;  // further pids come in the next packet
};

enum class Topic : uint32_t { identity, problem, holders, round };

struct RoundAnswer {  // followed by `devices` samples
  Topic topic = Topic::round;
  GpuState state = GpuState::starting;
  PidMapping pids = PidMapping::same;
  uint32_t devices = 0;
};

struct HoldersMessage {  // followed by `count` of ProcessVram; before the round that it belongs to
  Topic topic = Topic::holders;
  uint32_t count = 0;
};

struct IdentityMessage {
  Topic topic = Topic::identity;
  uint32_t index = 0, count = 0;
  std::optional<int64_t> core_count, vram_total_bytes;
  std::array<char, nvml::kTextSize> uuid{}, name{}, driver_version{}, pci_bus_id{};
};

// Why the library cannot be loaded, for a person.
struct ProblemMessage {
  Topic topic = Topic::problem;
  std::array<char, 508> text{};
};

static_assert(std::is_trivially_copyable_v<GpuSample> && std::is_trivially_copyable_v<GpuCounters> &&
              std::is_trivially_copyable_v<IdentityMessage>);
static_assert(sizeof(RoundAnswer) % alignof(GpuSample) == 0);

using RoundBuffer = std::array<std::byte, sizeof(RoundAnswer) + kMostDevices * sizeof(GpuSample)>;
static_assert(sizeof(RoundBuffer) >= sizeof(IdentityMessage) && sizeof(RoundBuffer) >= sizeof(ProblemMessage));

static_assert(sizeof(RoundBuffer) >= sizeof(HoldersMessage) + kMostHolders * sizeof(ProcessVram));

// The version, and the sizes of all messages: who says another word has other messages.
inline std::string gpu_message_layout() {
  std::string text = TACHO_VERSION;
  for (const size_t size : {sizeof(RoundQuestion), sizeof(RoundAnswer), sizeof(IdentityMessage), sizeof(HoldersMessage),
                            sizeof(GpuSample), sizeof(GpuCounters), sizeof(ProcessVram)})
    text += "-" + std::to_string(size);
  return text;
}

template <class T>
std::span<const std::byte> bytes_of(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace tacho
