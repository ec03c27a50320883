#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace tacho::log {
namespace {

std::atomic<Level> level{Level::normal};
std::atomic<uint64_t> raised{0};

bool first_time(std::string_view text) {
  // Never destroyed: a thread that nobody joins may warn while the program ends.
  static std::mutex& mutex = *new std::mutex;
  static auto& seen = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  // Bounded: a flood of different texts must not grow for ever.
  if (seen.size() >= 1000 || seen.contains(text)) return false;
  seen.emplace(text);
  return true;
}

// One write, so that lines of several threads and of the job do not mix.
void print(std::string_view text) {
  std::string line = "tacho: ";
  line += text;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // stderr is unbuffered
}

}  // namespace

void set_level(Level value) { level = value; }

void error(std::string_view text) { print(text); }

void warn(std::string_view text) {
  ++raised;
  if (first_time(text) && level != Level::quiet) print(text);
}

void warn(const Error& error) {
  if (error.code == Code::not_available || error.code == Code::gone) return debug(error.message());
  warn(error.message());
}

void debug(std::string_view text) {
  if (level == Level::verbose && first_time(text)) print(text);
}

uint64_t warnings() { return raised; }

}  // namespace tacho::log
