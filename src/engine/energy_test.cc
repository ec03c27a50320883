#include "engine/energy.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

Schema energy_schema() {
  Schema schema{kTimestampColumn};
  for (const char* name : {"system_cpu_energy_j", "system_gpu_energy_j", "process_cpu_usage", "system_cpu_usage",
                           "process_gpu_usage", "system_gpu_usage"}) {
    Column column = kTimestampColumn;
    column.name = name;
    schema.push_back(column);
  }
  return schema;
}

Energy energy_of(std::vector<double> cells, const std::string& mode, std::optional<double> intensity = {}) {
  Summary summary;
  summary.begin(energy_schema());
  Row row;
  row.interval_ns = 1'000'000'000;
  cells.insert(cells.begin(), 1);
  row.cells = std::move(cells);
  summary.add(row);
  summary.add(row);
  tacho::Run run;
  run.mode = mode;
  run.energy.carbon_intensity = intensity;
  EnergyKeeper keeper;
  keeper.begin(summary.schema());
  keeper.update(run, summary, "nvml");
  return run.energy;
}

TEST(Energy, NothingMeasuredIsNothing) {
  const Energy energy = energy_of({kAbsent, kAbsent, 1, 2, kAbsent, 0}, "run", 400);
  EXPECT_FALSE(energy.cpu_j || energy.gpu_j || energy.job_j || energy.co2_g);
  EXPECT_TRUE(energy.cpu_method.empty() && energy.job_share.empty());
}

TEST(Energy, TheJobsPartIsByCpuTime) {
  const Energy energy = energy_of({100, kAbsent, 1, 4, kAbsent, 0}, "run", 360);
  EXPECT_DOUBLE_EQ(*energy.cpu_j, 200);
  EXPECT_DOUBLE_EQ(*energy.job_j, 50);
  EXPECT_EQ(energy.cpu_method, "rapl");
  EXPECT_EQ(energy.job_share, "cpu time");
  EXPECT_DOUBLE_EQ(*energy.co2_g, 50 / 3.6e6 * 360);
  EXPECT_DOUBLE_EQ(*energy_of({100, kAbsent, 5, 4, kAbsent, 0}, "run").job_j, 200);  // never more than all
  EXPECT_DOUBLE_EQ(*energy_of({100, 300, 1, 4, 0.5, 1}, "run").job_j, 50 + 300);
  EXPECT_FALSE(energy_of({100, 300, 1, 4, kAbsent, 1}, "run").job_j);  // whose the GPU was is not known
  EXPECT_EQ(*energy_of({100, kAbsent, 1, 4, kAbsent, 0}, "run", 0).co2_g, 0);
}

TEST(Energy, TheMachinesIsExact) {
  const Energy energy = energy_of({100, 10, kAbsent, 4, kAbsent, 1}, "watch");
  EXPECT_DOUBLE_EQ(*energy.job_j, 220);
  EXPECT_EQ(energy.job_share, "exact");
  EXPECT_FALSE(energy.co2_g);
}

}  // namespace
}  // namespace tacho
