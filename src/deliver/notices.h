// What the deliverer has to tell a person: one line each, at most one per class and minute. Beside a run the lines go
// to tacho through stderr, which prints them ("! " marks what must be said even when quiet); as a command they go to
// the terminal. Thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tacho {

class Notices {
 public:
  explicit Notices(bool beside) : beside_(beside) {}
  // `kind` names the class, such as "token"; a line of the same class within a minute is left out.
  void warn(std::string_view kind, std::string_view text);
  // Always said: data is in danger or left behind.
  void must(std::string_view text);
  // For tacho itself (spool/contract.h); a person sees none of it.
  void message(std::string_view word) const;

 private:
  void line(std::string_view mark, std::string_view text) const;

  bool beside_;
  std::mutex mutex_;
  std::map<std::string, int64_t, std::less<>> last_ns_;
};

}  // namespace tacho
