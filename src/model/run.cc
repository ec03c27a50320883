#include "model/run.h"

#include <algorithm>

namespace tacho {

bool is_among(const std::vector<std::string>& fields, std::string_view field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

}  // namespace tacho
