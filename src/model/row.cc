#include "model/row.h"

#include <algorithm>

namespace tacho {

size_t place_of(const Schema& schema, std::string_view column) {
  const auto at = std::find_if(schema.begin(), schema.end(), [&](const Column& one) { return one.name == column; });
  return at == schema.end() ? 0 : static_cast<size_t>(at - schema.begin());
}

}  // namespace tacho
