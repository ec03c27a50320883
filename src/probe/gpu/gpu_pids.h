// Whether the numbers by which NVIDIA's driver knows processes are ours. In the initial pid namespace they are. In
// another one (a container) old drivers tell the host's numbers, new ones (open kernel modules) translate for the
// caller; which it is cannot be asked, so it has to be proved: a process that the driver lists under a number of the
// job's, and that indeed holds an NVIDIA device open here. Until then nothing is attributed to the job. Lives on the
// GPU thread. Relies on /proc/PID/ns/pid, on NSpid of /proc/PID/status (Linux 4.1) and on /proc/PID/fd.
#pragma once
#include <sys/types.h>

#include <string>

#include "os/file.h"

namespace tacho {

class GpuPids {
 public:
  explicit GpuPids(const Roots& roots);

  bool trusted() const { return initial_ || proved_; }
  // The driver reports numbers of other namespaces beside ours: only processes that it also lists are to be believed.
  bool initial() const { return initial_; }
  // A listed process that bears the number of one of the job's: looks for the proof.
  void consider(pid_t pid);

 private:
  std::string proc_;
  bool initial_ = false;
  bool proved_ = false;
  int attempts_left_ = 1000;  // a job that opens thousands of files is not searched for ever
};

}  // namespace tacho
