// What tacho top shows, or one line of it, at the bottom of the terminal below the job's own output: the lines above
// become the region that scrolls. On stderr, and only where that is a terminal in whose foreground the job is;
// elsewhere not a byte. The job's cursor stays where it is. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/live_feed.h"
#include "engine/settings.h"
#include "report/live/top_terminal.h"

namespace tacho {

class LivePanel {
 public:
  ~LivePanel() { end(); }
  // Nothing is shown where the settings do not ask for it. feed_devices: nobody else reads the sampler's devices.
  void begin(const Settings& settings, ProbeContext& context, Sampler& sampler, bool feed_devices);
  bool is_shown() const { return feed_.has_value(); }
  void show(const Run& run, const Row& row, int64_t now_ns);
  // The terminal as it was; may be called again, and show() begins anew.
  void end();

 private:
  void reserve(const TerminalSize& size);
  void write(const std::string& text);

  std::optional<LiveFeed> feed_;
  std::optional<LineFile> out_;
  bool one_line_ = false, color_ = false, drawn_ = false;
  int64_t every_ns_ = 0, next_ns_ = 0;
  TerminalSize size_;
  size_t height_ = 0;
};

}  // namespace tacho
