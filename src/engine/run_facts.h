// What is said about a run before it starts: the user's settings, who started it, what it is called. Thread-safe.
#pragma once
#include <string>

#include "engine/settings.h"
#include "model/run.h"
#include "probe/kit/probe.h"

namespace tacho {

void fill_from_settings(Run& run, const Settings& settings);
// Of an attached process its own surroundings count, not tacho's.
void find_who_started(Run& run, const Settings& settings, const Roots& roots);
// What was attached to, by name: a number tells a person nothing a day later. Empty: nothing was.
std::string attached_name(const Settings& settings, const ProbeContext& context);

}  // namespace tacho
