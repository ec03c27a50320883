#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/help.h"
#include "os/environment.h"

namespace tacho {
namespace {

// The first `columns` code points, with an ellipsis when something is left out.
std::string cut(const std::string& text, size_t columns) {
  if (columns == 0 || text_width(text) <= columns) return text;
  size_t end = 0, seen = 0;
  while (end < text.size() && seen + 1 <= columns) {
    if ((text[end] & 0xC0) != 0x80 && ++seen == columns) break;
    ++end;
  }
  return text.substr(0, end) + "…";
}

}  // namespace

bool use_color(ColorMode mode, int fd) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return ::isatty(fd) == 1 && environment_raw("TERM").value_or("dumb") != "dumb";
}

std::string styled(std::string_view text, Style style, bool color) {
  constexpr std::array<std::string_view, 6> kCodes{"", "1", "2", "32", "33", "31"};
  if (!color || style == Style::plain) return std::string(text);
  return "\033[" + std::string(kCodes[static_cast<size_t>(style)]) + "m" + std::string(text) + "\033[0m";
}

size_t terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string Table::text(bool color, size_t width) const {
  std::vector<size_t> widths(header.size(), 0);
  const auto measure = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  };
  measure(header);
  for (const auto& row : rows) measure(row);
  size_t before_last = 0;
  for (size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + 2;
  const size_t room = width > before_last + 8 ? width - before_last : 0;

  std::string out;
  const auto add = [&](const std::vector<std::string>& row, Style style) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      if (!last) line += row[i] + std::string(widths[i] + 2 - text_width(row[i]), ' ');
      else if (overlong == Overlong::cut || room == 0) line += cut(row[i], room);
      else line += wrap_text(row[i], before_last, before_last, width);
    }
    while (line.ends_with(' ') || line.ends_with('\n')) line.pop_back();
    out += styled(line, style, color) + "\n";
  };
  add(header, Style::bold);
  for (const auto& row : rows) add(row, Style::plain);
  return out;
}

}  // namespace tacho
