// Colour and tables for what subcommands print. Pure but for use_color().
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/settings.h"

namespace tacho {

enum class Style { plain, bold, dim, green, yellow, red };
bool use_color(ColorMode mode, int fd);
std::string styled(std::string_view text, Style style, bool color);
size_t terminal_width(int fd);  // 0 when it is no terminal

// Cells in aligned columns, two blanks apart. What the last column has beyond `width` (0: endless) is cut or wrapped.
enum class Overlong { cut, wrap };
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  Overlong overlong = Overlong::cut;
  std::string text(bool color, size_t width) const;
};

}  // namespace tacho
