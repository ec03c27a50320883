// Colour, cut texts and tables for what is printed to a person. Pure but for terminal_width() and the locale.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

enum class Style { plain, bold, dim, green, yellow, red };
std::string styled(std::string_view text, Style style, bool color);
size_t terminal_width(int fd);       // 0 when it is no terminal
bool terminal_takes_colors(int fd);  // false, too, when it is no terminal
// The words of text, which starts at `column`, broken before `width` and continued at `indent`; ends with a newline.
std::string wrap_text(std::string_view text, size_t column, size_t indent, size_t width);
// Every line of a text that is wider than `width` (0: endless) goes on below what follows its label; colours take no
// room.
std::string fold_text(std::string_view text, size_t width);
// At most `columns` wide, with an ellipsis of the locale when something is left out; 0: all.
std::string cut_text(std::string_view text, size_t columns);

// Cells in aligned columns, two blanks apart. What the last column has beyond `width` (0: endless) is cut or wrapped;
// where that is not enough the widest columns are cut too, so that no line is wider. A column that is firm is not: who
// sees half an id, date or number has nothing. Where the others have given all they can, the line ends early.
enum class Overlong { cut, wrap };
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  Overlong overlong = Overlong::cut;
  std::vector<bool> right = {};                 // columns of numbers, which end at the same place
  size_t right_from = static_cast<size_t>(-1);  // or all from this one on
  std::vector<bool> firm = {};
  size_t flexible_row = static_cast<size_t>(-1);  // long texts in a table of numbers: cut to their columns
  std::string text(bool color, size_t width) const;
  size_t least_width() const;  // with nothing but the flexible row cut

 private:
  std::vector<size_t> widths() const;
  void shrink(std::vector<size_t>& widths, size_t width) const;
  bool is_right(size_t column) const { return column >= right_from || (column < right.size() && right[column]); }
};

}  // namespace tacho
