#include "os/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/text_width.h"
#include "os/environment.h"

namespace tacho {
namespace {

// Below this a column says nothing any more.
constexpr size_t kNarrow = 4;

size_t sum_of(const std::vector<size_t>& widths) {
  size_t sum = 0;
  for (const size_t width : widths) sum += width;
  return sum + (widths.empty() ? 0 : 2 * (widths.size() - 1));
}

// Without the codes of styled().
size_t shown_width(std::string_view text) {
  size_t width = 0;
  for (size_t code = text.find("\033["); code != std::string_view::npos; code = text.find("\033[")) {
    const size_t end = text.find('m', code);
    width += text_width(text.substr(0, code));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return width + text_width(text);
}

// Where the text after a label stands: "  memory     peak 3 MiB" is 13.
size_t hanging_indent(std::string_view line, size_t width) {
  size_t indent = 0;
  for (size_t at = line.find("  "); at != std::string_view::npos; at = line.find("  ", at)) {
    at = line.find_first_not_of(' ', at);
    while (at != std::string_view::npos && line.substr(at).starts_with("\033["))
      at = line.find_first_not_of(' ', std::min(line.find('m', at), line.size() - 1) + 1);
    if (at == std::string_view::npos || shown_width(line.substr(0, at)) > width / 2) break;
    indent = shown_width(line.substr(0, at));
  }
  return indent;
}

}  // namespace

std::string fold_text(std::string_view text, size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    if (shown_width(line) <= width) {
      (out += line) += '\n';
      continue;
    }
    const size_t indent = hanging_indent(line, width);
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    out.append(begin, ' ');
    size_t column = begin, blanks = 0;
    for (const std::string_view word : split(line.substr(begin), ' ')) {
      const size_t room = shown_width(word);
      if (word.empty()) {
        ++blanks;
        continue;
      }
      if (column > indent && column + blanks + room > width) {
        (out += '\n').append(indent, ' ');
        column = indent;
        blanks = 0;
      }
      out.append(blanks, ' ') += word;
      column += blanks + room;
      blanks = 1;
    }
    out += '\n';
  }
  out.pop_back();  // of the last line, which had none
  return out;
}

std::string wrap_text(std::string_view text, size_t column, size_t indent, size_t width) {
  std::string out;
  for (const std::string_view word : split(text, ' ')) {
    const size_t length = text_width(word);
    if (column + length > width) {
      while (out.ends_with(' ')) out.pop_back();
      (out += '\n').append(indent, ' ');
      column = indent;
    }
    (out += word) += ' ';
    column += length + 1;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out += '\n';
}

std::string cut_text(std::string_view text, size_t columns) {
  return columns == 0 ? std::string(text) : cut_to(text, columns, in_locale("…"));
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

bool terminal_takes_colors(int fd) {
  const std::string term = environment_or("TERM");
  return ::isatty(fd) == 1 && !term.empty() && term != "dumb";
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths(header.size(), 0);
  const auto measure = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], text_width(in_locale(row[i])));
  };
  measure(header);
  for (size_t i = 0; i < rows.size(); ++i)
    if (i != flexible_row) measure(rows[i]);
  return widths;
}

size_t Table::least_width() const { return sum_of(widths()); }

void Table::shrink(std::vector<size_t>& widths, size_t width) const {
  while (sum_of(widths) > width) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool may_give = widths[i] > kNarrow && (i >= firm.size() || !firm[i]);
      if (may_give && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

std::string Table::text(bool color, size_t width) const {
  std::vector<size_t> widths = this->widths();
  // Long texts among numbers share what room there is.
  for (bool grows = flexible_row < rows.size(); grows;) {
    grows = false;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] >= text_width(in_locale(rows[flexible_row][i])) || (width > 0 && sum_of(widths) >= width)) continue;
      ++widths[i];
      grows = true;
    }
  }
  const size_t before_last = sum_of(widths) - (widths.empty() ? 0 : widths.back());
  const bool wraps = overlong == Overlong::wrap && width > before_last + 8;
  if (!wraps && width > 0) shrink(widths, width);

  std::string out;
  const auto add = [&](const std::vector<std::string>& row, Style style) {
    std::string line;
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string whole = in_locale(row[i]);
      if (wraps && i + 1 == row.size()) {
        line += wrap_text(whole, before_last, before_last, width);
        continue;
      }
      const std::string cell = width > 0 ? cut_text(whole, widths[i]) : whole;
      const size_t used = text_width(cell);
      const std::string room(widths[i] > used ? widths[i] - used : 0, ' ');
      line += (is_right(i) ? room + cell : cell + room) + (i + 1 == row.size() ? "" : "  ");
    }
    while (line.ends_with(' ') || line.ends_with('\n')) line.pop_back();
    if (width > 0 && !wraps) line = cut_text(line, width);
    out += styled(line, style, color) + "\n";
  };
  add(header, Style::bold);
  for (const auto& row : rows) add(row, Style::plain);
  return out;
}

}  // namespace tacho
