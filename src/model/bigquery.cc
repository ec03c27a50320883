#include "model/bigquery.h"

#include <array>

namespace tacho {

std::string_view bq_type_name(BqType type) {
  constexpr std::array<std::string_view, 6> kNames{"STRING", "INTEGER", "FLOAT", "BOOLEAN", "TIMESTAMP", "RECORD"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view bq_mode_name(BqMode mode) {
  constexpr std::array<std::string_view, 3> kNames{"NULLABLE", "REQUIRED", "REPEATED"};
  return kNames[static_cast<size_t>(mode)];
}

}  // namespace tacho
