// `tacho-kube follow-log`: writes what a container of this pod prints into a file, as read through the API server. For
// trainers whose command nobody knows, so that no launcher can stand before them. Needs the right to read pods/log for
// the pod's service account.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tacho {

// Lines of a log with time stamps, `2026-11-15T10:00:00.123456789Z text`, in pieces as they come. Lines that were there
// before (a follower resumes by whole seconds) are left out. Not thread-safe.
class LogLines {
 public:
  explicit LogLines(std::function<bool(std::string_view)> write) : write_(std::move(write)) {}
  bool take(std::string_view piece);              // false: the writer failed
  bool finish();                                  // the last line without its end
  void resume() { rest_.clear(), skipped_ = 0; }  // the connection broke: half a line comes again
  // For `sinceTime`: the second of the last whole line; empty before the first.
  std::string since() const;
  uint64_t lines() const { return lines_; }

 private:
  bool put(std::string_view line, bool ended);

  std::function<bool(std::string_view)> write_;
  std::string rest_;
  std::string last_;               // time stamp with nine digits, so that texts compare as times do
  uint64_t same_ = 0, lines_ = 0;  // how many lines of that very time were written
  uint64_t skipped_ = 0;           // of these, how many have come again
};

int follow_log_command(std::span<const std::string> words);

}  // namespace tacho
