// The doctor's checks: what works on this machine, what does not, why, and the fix. Each check is a function in one
// table; a check never changes anything that stays. Not thread-safe (a check may make and remove a folder).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/settings.h"
#include "os/file.h"

namespace tacho {

// not_applicable: there is nothing here that it could be about, such as a GPU. broken: it ought to work and does not.
enum class Health { ok, limited, not_applicable, broken };
std::string_view health_word(Health health);

struct Finding {
  std::string name;
  Health health = Health::ok;
  std::string seen;           // what was found
  std::string why;            // what it means for a recording; empty when all is well
  std::string fix;            // what to do; empty when there is nothing to do
  bool prevents_run = false;  // tacho run cannot work at all
};

std::vector<Finding> examine(const Roots& roots, const Settings& settings);
std::string findings_text(const std::vector<Finding>& findings, bool color);
std::string findings_json(const std::vector<Finding>& findings);

// The kernel's side (doctor_kernel.cc) and the side of files and probes (doctor_files.cc).
void examine_kernel(const Roots& roots, std::vector<Finding>& findings);
void examine_files(const Roots& roots, const Settings& settings, std::vector<Finding>& findings);
void examine_probes(const Roots& roots, std::vector<Finding>& findings);

}  // namespace tacho
