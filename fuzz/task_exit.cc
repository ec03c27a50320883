// The kernel's message about a task that ended.
#include "procfs/task_exit.h"

#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::TaskExit exit;
  if (!tacho::parse_task_exit(text, exit)) return;
  require(exit.task > 0 && exit.process > 0 && exit.parent >= 0);
  require(exit.cpu_ns >= 0 && exit.lived_ns >= 0 && exit.peak_bytes >= 0 && exit.name.back() == '\0');
}
