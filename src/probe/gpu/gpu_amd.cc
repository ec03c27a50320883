#include "probe/gpu/gpu_amd.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "probe/gpu/gpu_vendor.h"

namespace tacho {
namespace {

// "0000:03:00.0", the last part of where the link <card>/device leads.
std::string pci_address(const std::string& device) {
  const std::string target = read_link(device);
  if (!target.empty()) return std::string(last_part(target));
  // Not a link in a captured tree: the kernel also says it in uevent, "PCI_SLOT_NAME=0000:03:00.0".
  const auto uevent = read_whole_file(device + "/uevent", 1 << 16);
  if (!uevent) return {};
  for (const std::string_view line : split(*uevent, '\n'))
    if (line.starts_with("PCI_SLOT_NAME=")) return std::string(trim(line.substr(14)));
  return {};
}

// The folder hwmon/hwmonN: there is one.
std::string hwmon_folder(const std::string& device) {
  std::string found;
  list_directory(device + "/hwmon", [&](std::string_view name) {
    if (name.starts_with("hwmon")) found = device + "/hwmon/" + std::string(name);
  });
  return found;
}

std::vector<std::string> amd_cards(const Roots& roots) {
  std::vector<std::string> found;
  const std::string drm = roots.sys + "/class/drm";
  list_directory(drm, [&](std::string_view name) {
    // "card0", not its connectors "card0-DP-1".
    if (!name.starts_with("card") || !parse_int<int>(name.substr(4))) return;
    const std::string device = drm + "/" + std::string(name) + "/device";
    if (read_first_line(device + "/vendor") == "0x1002") found.push_back(device);
  });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool amdgpu_present(const Roots& roots) { return file_exists(roots.sys + "/module/amdgpu"); }

AmdBackend::AmdBackend(const Roots& roots) : job_(roots) {
  auto identities = std::make_shared<std::vector<GpuIdentity>>();
  const std::string version = read_first_line(roots.sys + "/module/amdgpu/version");
  const std::string rocm = read_first_line("/opt/rocm/.info/version");
  for (const std::string& device : amd_cards(roots)) {
    const std::string hwmon = hwmon_folder(device);
    Card card;
    card.busy = KeptFile(device + "/gpu_busy_percent");
    card.vram_used = KeptFile(device + "/mem_info_vram_used");
    card.vram_total = KeptFile(device + "/mem_info_vram_total");
    card.clock = KeptFile(device + "/pp_dpm_sclk");
    card.temperature = KeptFile(hwmon + "/temp1_input");
    // Cards of before 2022 average, newer ones tell the moment.
    const bool average = file_exists(hwmon + "/power1_average");
    card.power = KeptFile(hwmon + (average ? "/power1_average" : "/power1_input"));
    GpuIdentity identity;
    identity.pci_key = "pci_bus";
    identity.pci_bus_id = pci_address(device);
    identity.driver_version = version;
    identity.rocm_version = rocm;
    identity.name = read_first_line(device + "/product_name");
    if (identity.name.empty()) identity.name = "AMD GPU " + read_first_line(device + "/device");
    const std::string unique = read_first_line(device + "/unique_id");
    identity.uuid = unique.empty() ? identity.pci_bus_id : unique;
    identity.vram_total_bytes = number(card.vram_total);
    pdevs_.push_back(identity.pci_bus_id);
    identities->push_back(std::move(identity));
    cards_.push_back(std::move(card));
  }
  identities_ = std::move(identities);
}

std::optional<int64_t> AmdBackend::number(KeptFile& file) {
  std::string_view text;
  if (!file.read(buffer_, text)) return std::nullopt;
  return parse_int<int64_t>(trim(text));
}

// "1: 1450Mhz *": the current level bears the star.
std::optional<int64_t> AmdBackend::clock_mhz(KeptFile& file) {
  std::string_view text;
  if (!file.read(buffer_, text)) return std::nullopt;
  const size_t star = text.find('*');
  if (star == std::string_view::npos) return std::nullopt;
  const size_t line = text.rfind('\n', star) + 1;  // npos + 1 is 0
  const size_t colon = text.find(':', line);
  const size_t unit = text.find_first_of("Mm", line);
  if (colon == std::string_view::npos || unit == std::string_view::npos || unit < colon) return std::nullopt;
  return parse_int<int64_t>(trim(text.substr(colon + 1, unit - colon - 1)));
}

GpuState AmdBackend::sample(const GpuRequest& request, std::vector<GpuSample>& out) {
  if (cards_.empty()) return GpuState::none;
  if (request.job) job_.read(request.pids, pdevs_, shares_);
  for (size_t i = 0; i < cards_.size(); ++i) {
    GpuSample& sample = out.emplace_back();
    Card& card = cards_[i];
    const auto busy = number(card.busy);
    if (busy) sample.usage_ppm = std::clamp<int64_t>(*busy, 0, 100) * 10'000;
    sample.vram_used_bytes = number(card.vram_used);
    sample.vram_total_bytes = number(card.vram_total);
    if (request.detail) {
      sample.temperature_mc = number(card.temperature);  // millidegrees
      sample.power_mw = number(card.power);              // microwatts
      if (sample.power_mw) *sample.power_mw /= 1000;
      sample.frequency_mhz = sample.sm_clock_mhz = clock_mhz(card.clock);
    }
    if (!request.job) continue;
    const AmdJob::Share& share = shares_[i];
    sample.job_context = share.context;
    if (share.usage_known) sample.job_usage_ppm = share.usage_ppm;
    if (share.vram_known) sample.job_vram_bytes = share.vram_bytes;
  }
  return GpuState::ready;
}

namespace {

Result<GpuAccess> open_amd(ProbeContext& context) {
  if (!amdgpu_present(context.roots)) return Error{Code::not_available, "the kernel has no amdgpu", "", ""};
  return GpuAccess{std::make_unique<AmdBackend>(context.roots), nullptr};
}

Result<bool> check_amd(const Roots& roots) { return amdgpu_present(roots); }

}  // namespace

extern const GpuVendor kAmdGpus;
const GpuVendor kAmdGpus{"amd", open_amd, nullptr, check_amd};

}  // namespace tacho
