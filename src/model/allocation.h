// Did others use the machine beside the job? A guess by the means of a finished run; host_server_allocation is what was
// known of its limits at the start. Pure, thread-safe.
#pragma once
#include <functional>
#include <string_view>

namespace tacho {

// "shared" when the machine's mean of CPU, memory, GPU or VRAM is more than a factor or a margin above the job's,
// "dedicated" when none is, and empty when nothing is known. mean_of: kAbsent for a column without values.
std::string_view guess_allocation(const std::function<double(std::string_view column)>& mean_of);

// What such a guess rests on, for people.
std::string_view allocation_reason(std::string_view guess);

}  // namespace tacho
