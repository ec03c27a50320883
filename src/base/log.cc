#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace tacho::log {
namespace {

std::atomic<Level> level{Level::normal};
std::atomic<bool> is_ascii{false};
std::atomic<uint64_t> raised{0};

constexpr size_t kTexts = 1000;      // remembered, and printed in a minute at the most
constexpr size_t kLineLimit = 4096;  // bytes

bool first_time(std::string_view text) {
  // Never destroyed: a thread that nobody joins may warn while the program ends.
  static std::mutex& mutex = *new std::mutex;
  static auto& seen = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  // Bounded: a flood of different texts must neither grow for ever nor silence a service for the rest of its life.
  static auto since = std::chrono::steady_clock::now();
  if (seen.contains(text)) return false;
  if (seen.size() >= kTexts) {
    const auto now = std::chrono::steady_clock::now();
    if (now - since < std::chrono::minutes(1)) return false;
    since = now;
    seen.clear();
  }
  seen.emplace(text);
  return true;
}

constexpr size_t kMostHeld = 100, kLongestHeld = 2000;
std::atomic<bool> any_held{false}, has_unfinished_line{false};
constexpr std::string_view kCleanLine = "\r\x1b[K";

// Never destroyed, as above.
struct Held {
  std::mutex mutex;
  bool holding = false;
  uint64_t dropped = 0;
  std::vector<std::string> lines;
};
Held& held() {
  static Held& held = *new Held;
  return held;
}

std::vector<std::string> taken(Held& kept) {
  std::vector<std::string> lines = std::move(kept.lines);
  kept.lines.clear();
  if (kept.dropped > 0) lines.push_back(std::to_string(kept.dropped) + " more messages were dropped");
  kept.dropped = 0;
  any_held = false;
  return lines;
}

bool keep(std::string_view text) {
  Held& kept = held();
  const std::lock_guard lock(kept.mutex);
  if (!kept.holding) return false;
  any_held = true;
  if (kept.lines.size() >= kMostHeld) ++kept.dropped;
  else kept.lines.emplace_back(text.substr(0, kLongestHeld));
  return true;
}

// A message may quote what a stranger wrote: it is one line of bounded length, and nothing in it moves a cursor or
// looks like a line of our own. One write, so that lines of several threads and of the job do not mix.
void print(std::string_view text) {
  if (keep(text)) return;
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string line = "tacho: ";
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (at > 0) line += "; ";
    line += harmless_text(text.substr(at, end - at));
    at = end + 1;
    if (line.size() > kLineLimit) break;
  }
  if (line.size() > kLineLimit) {
    line.resize(kLineLimit);
    line = valid_utf8(line) + "...";  // the cut may have gone through a character
  }
  if (is_ascii) line = ascii_text(line);
  line += '\n';
  if (has_unfinished_line.exchange(false)) line.insert(0, kCleanLine);
  std::fwrite(line.data(), 1, line.size(), stderr);  // stderr is unbuffered
}

}  // namespace

void set_level(Level value) { level = value; }
void set_ascii(bool value) { is_ascii = value; }

void unfinished_line(bool there) { has_unfinished_line = there; }

void error(std::string_view text) { print(text); }

void info(std::string_view text) {
  if (level != Level::quiet) print(text);
}

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

void hold() {
  const std::lock_guard lock(held().mutex);
  held().holding = true;
}

bool holds_any() { return any_held; }

std::vector<std::string> take() {
  const std::lock_guard lock(held().mutex);
  return taken(held());
}

void release() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(held().mutex);
    held().holding = false;
    lines = taken(held());
  }
  for (const std::string& line : lines) print(line);
}

}  // namespace tacho::log
