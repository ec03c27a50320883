// monitoring.log in either format, its path, machine types and amounts of memory.
#include <cmath>

#include "base/text.h"
#include "cromwell/inputs.h"
#include "cromwell/machine.h"
#include "cromwell/monitoring_log.h"
#include "cromwell/row.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  using namespace tacho;
  MonitoringLog log([](const LogSample& sample) {
    require(sample.time_ns.has_value());
    for (const auto& value : {sample.cpu, sample.memory, sample.disk}) require(!value || *value >= 0);
  });
  for (const std::string_view line : split(text, '\n')) log.line(line);
  log.finish();
  (void)parse_log_path(text);
  (void)parse_date_output(text);
  if (const auto machine = machine_of_type(text)) require(machine->cpus > 0 && machine->memory_bytes > 0);
  if (const auto bytes = parse_memory_bytes(text)) {
    require(*bytes >= 0);
    const Machine shape = batch_shape(parse_cpus(text).value_or(1), *bytes, "AMD Rome");
    require(shape.cpus >= 2 && shape.cpus <= 96);
  }
  for (const Disk& disk : parse_disks(text, "/x")) require(disk.size_gb >= 0 && std::isfinite(disk.size_gb));
  (void)input_number(text);
  require(first_characters(text, 10).size() <= 40);
}
