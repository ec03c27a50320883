// A cgroup v2 of the job's own, below tacho's: the kernel then adds up the CPU time of every process that was ever in
// it, however short-lived, re-parented or reaped by itself. Made before the job starts, removed after it ended. Not
// thread-safe.
#pragma once
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class JobCgroup {
 public:
  // Below `parent`, tacho's own v2 folder. Fails where tacho may not make one, or the folder has no cpu.stat.
  static Result<JobCgroup> create(const std::string& parent);
  JobCgroup() = default;
  JobCgroup(JobCgroup&& other) noexcept;
  JobCgroup& operator=(JobCgroup&& other) noexcept;
  ~JobCgroup() { remove(); }

  int fd() const { return fd_.get(); }               // for spawn()
  const std::string& path() const { return path_; }  // empty: none
  void kill_all();                                   // cgroup.kill (Linux 5.14)
  // Removes it, with what the job made in it. False when processes of the job lived on: those in it are moved to the
  // parent, where they would be without tacho; one below it keeps it, until a later run finds all of it empty.
  bool remove();

 private:
  std::string path_;
  Fd fd_;
};

}  // namespace tacho
