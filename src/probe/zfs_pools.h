// ZfsPools: the size of ZFS pools. statvfs knows a dataset only, so `zpool list` is asked: once a minute at the most,
// by a process of its own that ends after 250 ms, and whose answer is taken at a later tick; no tick waits for it.
// Without the program or the right to ask nothing is known. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "os/fd.h"
#include "probe/kit/probe.h"

namespace tacho {

class ZfsPools {
 public:
  explicit ZfsPools(ProbeContext& context) : context_(context) {}
  ~ZfsPools();
  ZfsPools(const ZfsPools&) = delete;
  ZfsPools& operator=(const ZfsPools&) = delete;

  // Takes an answer that has come, and asks anew when it is time. To be called only while ZFS is mounted.
  void look(int64_t now_ns);
  std::optional<int64_t> size_bytes(const std::string& pool) const;

 private:
  void ask();
  void take_answer();

  ProbeContext& context_;
  pid_t pid_ = 0;
  Fd answer_;
  std::string text_;
  std::map<std::string, int64_t, std::less<>> size_bytes_;
  int64_t next_ns_ = 0;
};

}  // namespace tacho
