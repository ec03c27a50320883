#include "probe/kit/cpuacct.h"

#include <algorithm>

#include "procfs/cgroup_files.h"

namespace tacho {

Cpuacct::Cpuacct(const std::string& folder) : usage_(folder + "/cpuacct.usage"), stat_(folder + "/cpuacct.stat") {}

bool Cpuacct::read(ReadBuffer& buffer, int64_t& user_ns, int64_t& system_ns) {
  std::string_view text;
  if (!present() || !usage_.read(buffer, text)) return false;
  const auto total = parse_single(text);  // nanoseconds
  if (!total) return false;
  double user_share = 1;
  if (stat_.read(buffer, text)) {
    // `user 512` and `system 37`, in ticks
    const auto user = parse_keyed(text, "user"), system = parse_keyed(text, "system");
    if (user && system && (*user > 0 || *system > 0))
      user_share = static_cast<double>(*user) / (static_cast<double>(*user) + static_cast<double>(*system));
  }
  const int64_t sum_ns = std::max(*total, user_ns_ + system_ns_);
  user_ns_ = std::clamp(static_cast<int64_t>(static_cast<double>(sum_ns) * user_share), user_ns_, sum_ns - system_ns_);
  system_ns_ = sum_ns - user_ns_;
  user_ns = user_ns_;
  system_ns = system_ns_;
  return true;
}

}  // namespace tacho
