// tacho-deliver beside a run: sends what the agent seals, sleeps in between, and outlives the agent for as long as it
// takes to close the run. Afterwards, and whenever it has nothing else to do, it sends what dead runs left behind.
#pragma once
#include <string>
#include <vector>

namespace tacho {

// `control` is the pipe from the agent: "T<token>" first, then a line when something changed, "E<ms>" when the run has
// ended, with how long the agent waits, "Q" when it waits no longer. Its end without "E": the agent was killed.
int deliver_beside(const std::vector<std::string>& folders, int control);

}  // namespace tacho
