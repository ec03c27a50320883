// Proportional set sizes inside a time budget. smaps_rollup costs about 40 µs for a small process and 11–14 ms a GiB
// for a large one, and holds the target's mmap lock meanwhile; so a process is read again only when its resident size
// moved, when a relative that may share its pages came or went, or when it ran and ten seconds passed. In between its
// last ratio of PSS to RSS is applied. Not thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "os/file.h"
#include "probe/kit/probe.h"
#include "probe/tree/member.h"

namespace tacho {

struct TreeMemory {
  int64_t bytes = 0;  // by the best source
  int64_t rss_bytes = 0;
  int64_t pss_bytes = 0;       // scaled where not read
  int64_t uss_bytes = 0;       // private pages of those that were read, scaled likewise; 0: none was
  const char* source = "rss";  // "pss", "pss_scaled" or "rss"
};

class PssReader {
 public:
  PssReader(PssMode mode, int64_t interval_ns) : mode_(mode), interval_ns_(interval_ns) {}
  // Reads what the budget allows, then adds up.
  TreeMemory measure(std::vector<Member>& members, int proc_fd, ReadBuffer& buffer, int64_t now_ns);
  bool fell_back() const { return fell_back_; }  // some process was summed by its RSS

 private:
  bool wants_reading(const Member& member, int64_t now_ns) const;
  void read(Member& member, int proc_fd, ReadBuffer& buffer, int64_t now_ns);
  int64_t predicted_cost_ns(const Member& member) const;
  void charge(const Member& member, int64_t cpu_ns);

  PssMode mode_;
  int64_t interval_ns_;
  int64_t credit_ns_ = 50'000'000;  // a first look at about 1000 small processes or 4 GiB
  double ns_per_gib_ = 13e6;        // 11–14 ms with small pages, a hundredth of that with huge ones; learnt
  size_t next_ = 0;                 // round robin over the members
  bool fell_back_ = false;
};

}  // namespace tacho
