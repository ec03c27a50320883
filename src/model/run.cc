#include "model/run.h"

#include <algorithm>

namespace tacho {

bool is_hidden(const Run& run, std::string_view field) {
  return std::find(run.hidden.begin(), run.hidden.end(), field) != run.hidden.end();
}

}  // namespace tacho
