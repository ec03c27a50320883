#include "report/store/process_lines.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/store/csv_fields.h"

namespace tacho {

bool read_process_line(std::string_view line, ProcessLine& process) {
  constexpr size_t kMostFields = 13, kFewestFields = 8;
  std::array<std::string, kMostFields> texts;
  size_t count = 0;
  std::string room;
  for (FieldSplitter fields(line); fields.next(); ++count) {
    if (count == texts.size()) return false;
    texts[count] = fields.text(room);
  }
  if (count < kFewestFields) return false;
  const auto whole = [&](size_t i) { return parse_int<int64_t>(texts[i]).value_or(0); };
  const auto number = [&](size_t i) {
    const auto value = parse_double(texts[i]);
    return value && *value >= 0 ? *value : kAbsent;
  };
  if (!texts[0].empty() && whole(0) <= 0) return false;
  process = {whole(0),
             whole(1),
             std::move(texts[2]),
             std::move(texts[3]),
             std::move(texts[12]),
             number(4),
             number(5),
             std::max<int64_t>(0, whole(6)),
             number(7),
             number(8),
             number(9),
             number(10),
             number(11)};
  return !process.name.empty() || process.pid > 0;
}

}  // namespace tacho
