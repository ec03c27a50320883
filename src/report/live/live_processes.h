// Reads processes.csv of a run again and again while it grows: only what is new, all of it when another file has taken
// its place. A line that is torn or makes no sense is passed over. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/live/live_state.h"

namespace tacho {

class LiveProcesses {
 public:
  explicit LiveProcesses(std::string path) : path_(std::move(path)) {}
  // Whether something changed.
  bool read();
  // Those that live, or, of a run that has ended, all.
  std::vector<LiveProcess> list(bool all) const;

  void take(std::string_view text);  // whole lines and the start of one

 private:
  static constexpr size_t kMost = 100'000, kLongestLine = 4096;
  static constexpr off_t kMostBytes = off_t{256} << 20;  // what is longer was not written by tacho
  struct Known {
    LiveProcess process;
    bool ended = false;
  };
  void take_line(std::string_view line);

  std::string path_, rest_;
  std::map<std::pair<int64_t, double>, Known> known_;  // by pid and start; lines without a pid by their place
  int64_t unnumbered_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t at_ = 0;
};

}  // namespace tacho
