#include "engine/live_panel.h"

#include <unistd.h>

#include <algorithm>

#include "base/text_width.h"
#include "os/environment.h"
#include "os/text_table.h"
#include "report/live/live_text.h"

namespace tacho {
namespace {

constexpr int kTerminal = STDERR_FILENO;
constexpr size_t kMostLines = 16;
constexpr const char* kSaveCursor = "\0337";
constexpr const char* kRestoreCursor = "\0338";

std::string at_line(size_t line) { return "\x1b[" + std::to_string(line) + ";1H"; }

}  // namespace

void LivePanel::begin(const Settings& settings, ProbeContext& context, Sampler& sampler, bool feed_devices) {
  const bool progress = settings.mode == Mode::run && settings.progress_ns;
  if (settings.quiet || (!settings.live && !progress) || !terminal_takes_colors(kTerminal)) return;
  auto out = LineFile::open("stderr:");
  if (!out) return;
  out_.emplace(std::move(*out));
  one_line_ = !settings.live;
  every_ns_ = one_line_ ? *settings.progress_ns : 0;
  color_ = settings.color != ColorMode::never;
  feed_.emplace(context, sampler, feed_devices);
}

// Room below what is there, and the region above it to scroll.
void LivePanel::reserve(const TerminalSize& size) {
  // A terminal that was resized has put the old lines anywhere: all below the job's cursor is cleared.
  if (drawn_) write(std::string(kSaveCursor) + "\x1b[r" + kRestoreCursor + "\x1b[J");
  drawn_ = false;
  size_ = size;
  height_ = one_line_ ? 1 : std::min(kMostLines, size.lines / 2);
  if (height_ == 0 || size.lines < 3) return;
  write(std::string(height_, '\n') + "\x1b[" + std::to_string(height_) + "A" + kSaveCursor + "\x1b[1;" +
        std::to_string(size.lines - height_) + "r" + kRestoreCursor);
  drawn_ = true;
  reset_on_crash(kTerminal, std::string(kSaveCursor) + "\x1b[0m\x1b[?7h\x1b[r" + kRestoreCursor);
}

void LivePanel::show(const Run& run, const Row& row, int64_t now_ns) {
  if (!feed_) return;
  feed_->take(run, row, now_ns);
  if (now_ns < next_ns_ || row.closing) return;
  next_ns_ = now_ns + every_ns_;
  if (!may_draw(kTerminal, run.pid)) return;
  const TerminalSize size = terminal_size(kTerminal);
  if (!drawn_ || size.columns != size_.columns || size.lines != size_.lines) reserve(size);
  if (!drawn_) return;
  const Window window{size.columns, height_, color_, locale_is_ascii(), false};
  std::vector<std::string> lines;
  if (one_line_) {
    std::string line = feed_->state().figures.line();
    while (line.ends_with('\n')) line.pop_back();
    lines = {cut_to(line, size.columns)};
    if (window.ascii) lines[0] = ascii_signs(lines[0]);
  } else {
    lines = live_picture(feed_->state(), {}, window).lines;
  }
  lines.resize(height_);
  std::string text = std::string(kSaveCursor) + "\x1b[?7l";
  for (size_t i = 0; i < height_; ++i) text += at_line(size.lines - height_ + 1 + i) + "\x1b[0m\x1b[K" + lines[i];
  write(text + "\x1b[?7h" + kRestoreCursor);
}

void LivePanel::end() {
  if (!drawn_) return;
  drawn_ = false;
  write(kSaveCursor + ("\x1b[r" + at_line(size_.lines - height_ + 1)) + "\x1b[J" + kRestoreCursor);
  no_reset_on_crash();
}

void LivePanel::write(const std::string& text) {
  if (const Status status = out_->write(text); !status) drawn_ = false;  // the terminal is gone
}

}  // namespace tacho
