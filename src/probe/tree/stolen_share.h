// The part of a perf task clock that is not the job's: it goes on while the hypervisor runs another guest on the CPU.
// The kernel tells that time for the whole machine only ("steal" of /proc/stat), so it is divided as the CPUs' busy
// time is: a clock that had a third of it has a third of what was stolen. Not thread-safe; no allocation.
#pragma once
#include <cstdint>
#include <string>

#include "os/file.h"

namespace tacho {

class StolenShare {
 public:
  explicit StolenShare(const std::string& proc) : stat_(proc + "/stat") {}
  void begin(ReadBuffer& buffer);  // when the clock begins, at 0
  // Of a clock that says clock_ns now: what was stolen since it began. The same as before when that cannot be read.
  int64_t update(ReadBuffer& buffer, int64_t clock_ns);
  int64_t ns() const { return ns_; }

 private:
  struct Mark {
    int64_t steal_ns = 0, used_ns = 0, clock_ns = 0;  // used: busy or stolen
  };
  bool read(ReadBuffer& buffer, Mark& mark);

  KeptFile stat_;
  Mark last_;
  bool begun_ = false;
  int64_t settled_ns_ = 0, ns_ = 0;
};

}  // namespace tacho
