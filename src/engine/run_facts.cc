#include "engine/run_facts.h"

#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "discover/started_by.h"
#include "engine/outcome.h"
#include "job/process_identity.h"

namespace tacho {

void fill_from_settings(Run& run, const Settings& settings) {
  run.tracker_pid = ::getpid();
  run.tracker_start_ticks = process_start_ticks(run.tracker_pid);
  run.interval_ns = settings.interval_ns;
  run.metadata = settings.metadata;
  run.hidden = settings.hide;
  run.nested_pass = settings.nested_pass;
  run.metric_labels = settings.metric_labels;
  run.energy.carbon_intensity = settings.carbon_intensity;
  for (const std::string& word : settings.command) run.command.push_back(valid_utf8(word));
  std::string folder(4096, '\0');
  if (::getcwd(folder.data(), folder.size()) != nullptr) run.working_directory = valid_utf8(folder.c_str());
}

void find_who_started(Run& run, const Settings& settings, const Roots& roots) {
  run.started_by.requested = settings.request;
  if (!settings.detect || settings.compatible || !settings.attach_cgroup.empty()) return;
  JobSurroundings surroundings =
      settings.mode == Mode::attach ? surroundings_of(roots, settings.attach_pid) : own_surroundings(roots);
  surroundings.command = settings.command;
  apply_starter(find_starter(surroundings), run.metadata, run.started_by);
}

std::string attached_name(const Settings& settings, const ProbeContext& context) {
  if (settings.attach_pid > 0 && is_prolog_of_task(settings.attach_pid)) return "";  // it is slurmstepd still
  if (settings.attach_pid > 0)
    return valid_utf8(read_first_line(context.roots.proc + "/" + std::to_string(settings.attach_pid) + "/comm"));
  if (settings.mode == Mode::attach) return valid_utf8(last_part(cgroup_folder(context.cgroup)));
  return "";
}

}  // namespace tacho
