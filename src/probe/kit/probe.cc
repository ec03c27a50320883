#include "probe/kit/probe.h"

#include <algorithm>

namespace tacho {

void ProbeContext::note(std::string text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(std::move(text));
}

const ProbeInfo* find_probe(std::string_view name) {
  for (const ProbeInfo& probe : all_probes())
    if (probe.name == name) return &probe;
  return nullptr;
}

}  // namespace tacho
