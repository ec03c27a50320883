// Whether what a job had was too little, right or too much, and what that risks. Pure.
#pragma once
#include <vector>

#include "report/advice/advice.h"

namespace tacho {

// Fills asked, had, state and risk; used and advised are known by then.
void judge_sizes(const std::vector<const Input*>& runs, Advice& advice);

}  // namespace tacho
