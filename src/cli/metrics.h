// docs/metrics.md, from the probe table. Thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "probe/kit/probe.h"

namespace tacho {

std::string_view default_word(ProbeDefault by_default);  // "on", "off", "auto"
std::string metrics_document();                          // docs/metrics.md

}  // namespace tacho
