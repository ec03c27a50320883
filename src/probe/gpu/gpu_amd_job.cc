// The job's share of AMD cards; see gpu_amd.h.
#include <fcntl.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "os/clock.h"
#include "probe/gpu/gpu_amd.h"
#include "procfs/drm_fdinfo.h"

namespace tacho {
namespace {

constexpr int kSearchRounds = 10;  // between two searches of one process
constexpr int kFirstRounds = 2;    // a process without any is searched more often: it may just be starting

}  // namespace

void AmdJob::search(Process& process) {
  process.fds.clear();
  const std::string folder = proc_ + "/" + std::to_string(process.pid) + "/fd";
  list_directory(folder, [&](std::string_view name) {
    const auto fd = parse_int<int>(name);
    if (fd && read_link(folder + "/" + std::string(name)).starts_with("/dev/dri/")) process.fds.push_back(*fd);
  });
  process.rounds_left = process.fds.empty() ? kFirstRounds : kSearchRounds;
}

void AmdJob::read_process(Process& process, const std::vector<std::string>& pdevs, std::vector<Share>& out) {
  if (process.rounds_left-- <= 0) search(process);
  for (const int fd : process.fds) {
    char path[4096];
    std::snprintf(path, sizeof path, "%s/%d/fdinfo/%d", proc_.c_str(), static_cast<int>(process.pid), fd);
    std::string_view text;
    if (!buffer_.read_at(AT_FDCWD, path, text)) {
      process.rounds_left = 0;  // closed: look what is open now
      continue;
    }
    const auto info = parse_drm_fdinfo(text);
    if (!info || info->driver != "amdgpu" || !info->client_id) continue;
    const auto card = static_cast<size_t>(std::find(pdevs.begin(), pdevs.end(), info->pdev) - pdevs.begin());
    if (card == pdevs.size()) continue;
    auto client = std::find_if(clients_.begin(), clients_.end(),
                               [&](const Client& c) { return c.card == card && c.id == *info->client_id; });
    if (client == clients_.end()) client = clients_.insert(clients_.end(), Client{card, *info->client_id});
    if (client->seen) continue;
    client->seen = true;
    client->engine_before_ns = client->engine_ns;
    client->engine_ns = info->engine_ns.value_or(-1);
    out[card].context = true;
    if (info->vram_bytes) {
      out[card].vram_known = true;
      out[card].vram_bytes += *info->vram_bytes;
      holders_.push_back({process.pid, *info->vram_bytes});
    }
  }
}

void AmdJob::read(const std::vector<pid_t>& pids, const std::vector<std::string>& pdevs, std::vector<Share>& out) {
  const int64_t now_ns = system_clock().monotonic_ns();
  out.assign(pdevs.size(), Share{});
  holders_.clear();
  for (Client& client : clients_) client.seen = false;
  // Both lists ascend: keep what is known of processes that are still there.
  std::erase_if(processes_, [&](const Process& p) { return !std::binary_search(pids.begin(), pids.end(), p.pid); });
  for (size_t i = 0; i < pids.size(); ++i) {
    if (i == processes_.size() || processes_[i].pid != pids[i])
      processes_.insert(processes_.begin() + static_cast<ptrdiff_t>(i), Process{pids[i], 0, {}});
    read_process(processes_[i], pdevs, out);
  }
  std::erase_if(clients_, [](const Client& client) { return !client.seen; });
  const int64_t span_ns = before_ns_ == 0 ? 0 : now_ns - before_ns_;
  before_ns_ = now_ns;
  for (Share& share : out) {
    share.usage_known = !share.context;  // no client: a measured zero
    share.vram_known = share.vram_known || !share.context;
  }
  if (span_ns <= 0) return;
  for (const Client& client : clients_) {
    if (client.engine_ns < 0) continue;
    Share& share = out[client.card];
    share.usage_known = true;
    // What it used before it was seen first cannot be laid upon this interval.
    if (client.engine_before_ns >= 0 && client.engine_ns > client.engine_before_ns)
      share.usage_ppm += static_cast<int64_t>(1e6 * static_cast<double>(client.engine_ns - client.engine_before_ns) /
                                              static_cast<double>(span_ns));
  }
}

}  // namespace tacho
