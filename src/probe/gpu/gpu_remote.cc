#include "probe/gpu/gpu_remote.h"

#include <algorithm>
#include <cstring>

#include "os/companion.h"

namespace tacho {
namespace {

GpuChannel::Trouble trouble_of(ssize_t received) {
  return received < 0 ? GpuChannel::Trouble::late : GpuChannel::Trouble::ended;
}

template <class Message>
Message message_in(std::span<const std::byte> packet) {
  Message message;
  std::memcpy(&message, packet.data(), sizeof message);
  return message;
}

template <size_t kSize>
std::string text_of(const std::array<char, kSize>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

}  // namespace

RemoteNvidia::RemoteNvidia(std::shared_ptr<GpuChannel> channel)
    : channel_(std::move(channel)), buffer_(new RoundBuffer) {}

bool RemoteNvidia::ask(const GpuChannel::Line& line, const GpuRequest& request) {
  const std::span<const pid_t> pids(request.pids);
  for (size_t sent = 0;;) {
    const size_t count = std::min(kPidsInAPacket, pids.size() - sent);
    const RoundQuestion question{request.job, request.detail, sent + count < pids.size()};
    const auto part = std::as_bytes(pids.subspan(sent, count));
    if (!send_packet(line.end->get(), bytes_of(question), part, line.deadline_ns)) return false;
    sent += count;
    if (!question.more) return true;
  }
}

void RemoteNvidia::take_identity(const IdentityMessage& message) {
  if (message.index == 0) coming_.clear();
  GpuIdentity& identity = coming_.emplace_back();
  identity.uuid = text_of(message.uuid);
  identity.name = text_of(message.name);
  identity.driver_version = text_of(message.driver_version);
  identity.pci_bus_id = text_of(message.pci_bus_id);
  identity.core_count = message.core_count;
  identity.vram_total_bytes = message.vram_total_bytes;
  if (coming_.size() == message.count) identities_ = std::make_shared<const std::vector<GpuIdentity>>(coming_);
}

bool RemoteNvidia::take_holders(std::span<const std::byte> packet) {
  const auto message = message_in<HoldersMessage>(packet);
  const auto rest = packet.subspan(sizeof message);
  if (message.count > kMostHolders || rest.size() != message.count * sizeof(ProcessVram)) return false;
  holders_.resize(message.count);
  if (message.count > 0) std::memcpy(holders_.data(), rest.data(), rest.size());
  return true;
}

bool RemoteNvidia::hear(const GpuChannel::Line& line, RoundAnswer& answer, GpuChannel::Trouble& trouble) {
  for (;;) {
    const ssize_t received = receive_packet(line.end->get(), *buffer_, line.deadline_ns);
    if (received <= 0) {
      trouble = trouble_of(received);
      return false;
    }
    const auto packet = std::span<const std::byte>(*buffer_).first(static_cast<size_t>(received));
    trouble = GpuChannel::Trouble::ended;  // whoever sends something else is no reader any more
    if (packet.size() < sizeof(Topic)) return false;
    const auto topic = message_in<Topic>(packet);
    if (topic == Topic::identity && packet.size() == sizeof(IdentityMessage)) {
      take_identity(message_in<IdentityMessage>(packet));
    } else if (topic == Topic::holders && packet.size() >= sizeof(HoldersMessage)) {
      if (!take_holders(packet)) return false;
    } else if (topic == Topic::problem && packet.size() == sizeof(ProblemMessage)) {
      channel_->has_problem(text_of(message_in<ProblemMessage>(packet).text));
    } else if (topic == Topic::round && packet.size() >= sizeof(RoundAnswer)) {
      answer = message_in<RoundAnswer>(packet);
      return packet.size() == sizeof answer + answer.devices * sizeof(GpuSample);
    } else {
      return false;
    }
  }
}

GpuState RemoteNvidia::sample(const GpuRequest& request, std::vector<GpuSample>& out) {
  const size_t first = out.size();
  holders_.clear();
  const GpuChannel::Line line = channel_->line();
  if (line.end != nullptr) {
    RoundAnswer answer;
    GpuChannel::Trouble trouble = GpuChannel::Trouble::ended;
    if (ask(line, request) && hear(line, answer, trouble)) {
      channel_->answered(line);
      pids_ = answer.pids;
      out.resize(first + answer.devices);
      if (answer.devices > 0)
        std::memcpy(&out[first], buffer_->data() + sizeof answer, answer.devices * sizeof(GpuSample));
      return answer.state;
    }
    channel_->failed(line, trouble);
  }
  out.resize(first + (identities_ != nullptr ? identities_->size() : 0));  // known devices, now unknown
  return GpuState::failed;
}

void RemoteCounters::read(bool, GpuCounters& out) {
  const GpuChannel::Line line = channel_->line();
  out.epoch = line.epoch;
  if (line.end == nullptr) return;
  const std::byte question{1};
  GpuCounters now;
  ssize_t received = 0;
  if (send_packet(line.end->get(), bytes_of(question), {}, line.deadline_ns))
    received = receive_packet(line.end->get(), std::as_writable_bytes(std::span(&now, 1)), line.deadline_ns);
  if (received != static_cast<ssize_t>(sizeof now)) return channel_->failed(line, trouble_of(received));
  channel_->answered(line);
  add_to(out.energy_uj, now.energy_uj);
  add_to(out.pcie_rx_bytes, now.pcie_rx_bytes);
  add_to(out.pcie_tx_bytes, now.pcie_tx_bytes);
  add_to(out.nvlink_rx_bytes, now.nvlink_rx_bytes);
  add_to(out.nvlink_tx_bytes, now.nvlink_tx_bytes);
  add_to(out.pcie_max_bytes_per_s, now.pcie_max_bytes_per_s);
  add_to(out.nvlink_max_bytes_per_s, now.nvlink_max_bytes_per_s);
  if (now.temperature_mc) out.temperature_mc = std::max(out.temperature_mc.value_or(INT64_MIN), *now.temperature_mc);
  out.energy_stamp_ns = std::max(out.energy_stamp_ns, now.energy_stamp_ns);
  out.pcie_stamp_ns = std::max(out.pcie_stamp_ns, now.pcie_stamp_ns);
  out.nvlink_stamp_ns = std::max(out.nvlink_stamp_ns, now.nvlink_stamp_ns);
  if (now.gpm.stamp_ns > out.gpm.stamp_ns) out.gpm = now.gpm;
  out.units = now.units;
  out.unit_devices = static_cast<uint32_t>(std::min<size_t>(now.unit_devices, kMostDevices));
  out.units_known = now.units_known;
  out.energy_by_power |= now.energy_by_power;
}

}  // namespace tacho
