// Gives each process of a tree a clock that its children inherit: each one, and none of them two, although they fork
// meanwhile.
//
// Whoever is forked after its parent got a clock has it too. So a process gets one of its own only when it was seen
// before its parent got one, and parents come first: what a process hands to an ancestor when it ends is in no list
// that is read later. Of a process that forks just then, the new child is in doubt; it is tried again, and at last the
// child goes without, since to count too little by one short child is no lie, and to count it twice is. What a process
// used up to its own clock is read just before, so that the sum of those readings and the clocks is never above the
// truth. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace tacho {

class ClockStart {
 public:
  // The processes, as they are at the moment of each question.
  class Processes {
   public:
    Processes() = default;
    Processes(const Processes&) = delete;
    virtual ~Processes() = default;
    // What it and the children that it waited for used so far. False when it has ended; used_ns is then what was seen
    // of it, if that reached nobody else.
    virtual bool read(pid_t pid, int64_t& used_ns) = 0;
    // Its children now; the fingerprint is another one when a child or a thread has come or gone. False when it would
    // not stand still.
    virtual bool children(pid_t pid, std::vector<pid_t>& pids, uint64_t& fingerprint) = 0;
    // A clock for a process and its threads, from now on; kept by keep(), gone with the next one that is opened
    // otherwise.
    virtual Status open(pid_t pid) = 0;
    virtual bool keep() = 0;  // false when there are too many
  };

  // members: parents first. False where there can be no clock.
  bool give(Processes& processes, const std::vector<pid_t>& members);
  int64_t base_ns() const { return base_ns_; }  // used before: with the clocks it is all
  int in_doubt() const { return in_doubt_; }    // forked in the very moment, perhaps without a clock

 private:
  bool give_one(Processes& processes, pid_t pid);

  std::vector<pid_t> before_, behind_;
  int64_t base_ns_ = 0;
  int in_doubt_ = 0;
};

}  // namespace tacho
