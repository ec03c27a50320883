// CPU time of a cgroup v1. cpuacct.usage is exact; cpuacct.usage_user and usage_sys are counted by the timer tick and
// go wrong by as much as the tick misses, so cpuacct.stat is asked only for how the exact sum divides. Both files are
// in every kernel that has the controller. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "os/file.h"

namespace tacho {

class Cpuacct {
 public:
  Cpuacct() = default;
  explicit Cpuacct(const std::string& folder);
  bool present() const { return !usage_.path().empty(); }
  // Cumulative, neither of them ever falls. False when the file cannot be read.
  bool read(ReadBuffer& buffer, int64_t& user_ns, int64_t& system_ns);

 private:
  KeptFile usage_, stat_;
  int64_t user_ns_ = 0, system_ns_ = 0;
};

}  // namespace tacho
