#include "probe/kit/probe.h"

#include <algorithm>

namespace tacho {

void ProbeContext::note(std::string text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(std::move(text));
}

}  // namespace tacho
