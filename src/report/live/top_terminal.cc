#include "report/live/top_terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <utility>

namespace tacho {
namespace {

// The other screen, no cursor, no wrapping; and back, with colours and the scrolling region as they begin.
constexpr std::string_view kTake = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J\x1b[H";
constexpr std::string_view kGiveBack = "\x1b[0m\x1b[r\x1b[?7h\x1b[?25h\x1b[?1049l";

// What the crash handler needs: it can ask nobody.
std::atomic<int> crash_fd{-1};
std::array<char, 128> crash_bytes;
std::atomic<size_t> crash_size{0};
termios crash_settings;
std::atomic<bool> crash_has_settings{false};
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Only calls that a signal handler may make. The disposition is the default again by now (SA_RESETHAND).
void crashed(int number) {
  const int fd = crash_fd.exchange(-1);
  if (fd >= 0) {
    if (crash_has_settings) ::tcsetattr(STDIN_FILENO, TCSANOW, &crash_settings);
    [[maybe_unused]] const ssize_t written = ::write(fd, crash_bytes.data(), crash_size);
  }
  ::raise(number);
}

bool take_keys() {
  termios settings{};
  if (::isatty(STDIN_FILENO) != 1 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return false;
  if (::tcgetattr(STDIN_FILENO, &settings) != 0) return false;
  crash_settings = settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 0;
  settings.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program could not give the terminal back
  crash_has_settings = true;
  return ::tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0;
}

}  // namespace

TerminalSize terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

bool may_draw(int fd, pid_t pid) {
  if (::isatty(fd) != 1) return false;
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground == ::getpgrp() || (pid > 0 && foreground == ::getpgid(pid));
}

void reset_on_crash(int fd, std::string_view sequence) {
  crash_size = std::min(sequence.size(), crash_bytes.size());
  std::copy_n(sequence.begin(), crash_size.load(), crash_bytes.begin());
  crash_fd = fd;
  struct sigaction action {};
  action.sa_handler = crashed;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int number : kCrashes) ::sigaction(number, &action, nullptr);
}

void no_reset_on_crash() {
  crash_fd = -1;
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int number : kCrashes) ::sigaction(number, &action, nullptr);
}

Result<TopTerminal> TopTerminal::open() {
  auto out = LineFile::open("-");
  if (!out) return out.error();
  TopTerminal terminal(std::move(*out));
  reset_on_crash(STDOUT_FILENO, kGiveBack);
  terminal.has_keys_ = take_keys();
  if (const Status status = terminal.out_.write(kTake); !status && !terminal.out_.stalled()) return status.error();
  return terminal;
}

TopTerminal::TopTerminal(TopTerminal&& other) noexcept
    : out_(std::move(other.out_)), owner_(std::exchange(other.owner_, false)), has_keys_(other.has_keys_) {}

TopTerminal::~TopTerminal() {
  if (!owner_) return;
  // Nothing here waits for a terminal that takes nothing (Ctrl-S, a window that nobody reads): it never drains.
  if (crash_has_settings.exchange(false)) ::tcsetattr(STDIN_FILENO, TCSANOW, &crash_settings);
  (void)out_.write(kGiveBack);
  no_reset_on_crash();
}

Status TopTerminal::draw(std::span<const std::string> lines) {
  // Each line is cleared first: behind the last column the cursor stands on it, and clearing would take it away.
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "\x1b[H\x1b[K" : "\r\n\x1b[K") + lines[i];
  const size_t next = lines.size() + 1;
  if (next <= terminal_size(STDOUT_FILENO).lines) text += "\x1b[" + std::to_string(next) + ";1H\x1b[J";
  const Status drawn = out_.write(text);
  return out_.stalled() ? ok() : drawn;
}

std::string TopTerminal::read_keys() const {
  std::string keys(256, '\0');
  const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (count < 0) return "";
  keys.resize(static_cast<size_t>(count));
  return keys;
}

}  // namespace tacho
