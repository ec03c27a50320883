// Every rule at its boundaries, one condition at a time.
#include "report/verdict/row_class.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tacho {
namespace {

using Cells = std::map<std::string, double>;

const Schema& judged_schema() {
  static const Schema schema = [] {
    Schema made{kTimestampColumn};
    for (size_t i = 0; i < kSources; ++i) {
      Column column = kTimestampColumn;
      column.name = column_of(static_cast<Source>(i));
      made.push_back(column);
    }
    return made;
  }();
  return schema;
}

Row judged_row(const Cells& cells, double seconds = 1) {
  Row row;
  row.interval_ns = static_cast<int64_t>(seconds * 1e9);
  row.cells.assign(judged_schema().size(), kAbsent);
  row.cells[0] = 1;
  for (const auto& [name, value] : cells) {
    size_t cell = 0;
    for (size_t i = 1; i < judged_schema().size(); ++i)
      if (judged_schema()[i].name == name) cell = i;
    EXPECT_NE(cell, 0u) << name;
    row.cells[cell] = value;
  }
  return row;
}

JudgedRun own_run(double cores = 4) {
  JudgedRun run;
  run.cores = cores;
  run.own_cgroup = run.kills_are_jobs = true;
  return run;
}

std::string word_of(const std::optional<RowClass>& found) {
  if (!found) return "no class";
  std::string word(limit_word(found->limit));
  if (found->aspect != Aspect::unknown) (word += ' ') += aspect_word(found->aspect);
  return word;
}

std::string judged(const Cells& cells, const JudgedRun& run = own_run(), double seconds = 1) {
  return word_of(RowJudge(judged_schema()).classify(judged_row(cells, seconds), run));
}

// A job with one busy thread out of four that nothing holds up: no rule holds.
Cells quiet(const Cells& more = {}) {
  Cells cells{{"process_cpu_usage", 0.6},         {"process_threads", 4},
              {"cgroup_throttled_time", 0},       {"cgroup_pressure_cpu_some", 0},
              {"cgroup_pressure_memory_full", 0}, {"cgroup_pressure_io_some", 0},
              {"process_waits_cpu", 1},           {"process_waits_disk", 0},
              {"process_waits_network", 0},       {"process_waits_lock", 0},
              {"process_waits_child", 0},         {"process_waits_pipe", 0},
              {"process_waits_sleep", 0},         {"process_waits_gpu", 0},
              {"process_waits_idle", 3},          {"process_waits_other", 0},
              {"system_disk_read_bytes", 0},      {"system_disk_write_bytes", 0},
              {"system_disk_requests", 0}};
  for (const auto& [name, value] : more) cells[name] = value;
  return cells;
}

TEST(RowClass, NothingHolds) {
  EXPECT_EQ(judged(quiet()), "none");
  EXPECT_EQ(judged({{"process_memory_mib", 5}}), "none");  // what was not read makes no condition hold
  EXPECT_EQ(judged({}), "no class");
  EXPECT_EQ(judged({{"process_threads", 0}, {"process_cpu_usage", 4}}), "no class");
  EXPECT_EQ(judged({{"process_cpu_usage", 3.6}}), "cpu saturated");  // of a tracker that does not count threads
}

TEST(RowClass, Memory) {
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_memory_full", 0.1}})), "memory");
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_memory_full", 0.0999}})), "none");
  EXPECT_EQ(judged(quiet({{"cgroup_oom_kills", 1}})), "memory");
  EXPECT_EQ(judged(quiet({{"cgroup_oom_kills", 0}})), "none");
  JudgedRun spared = own_run();
  spared.kills_are_jobs = false;
  EXPECT_EQ(judged(quiet({{"cgroup_oom_kills", 1}}), spared), "none");
}

TEST(RowClass, MemoryBySwapNeedsFaultsOfTheJob) {
  const auto swapping = [](double in, double out, double faults, double seconds = 1) {
    return judged(
        quiet({{"system_swap_in_bytes", in}, {"system_swap_out_bytes", out}, {"process_major_page_faults", faults}}),
        own_run(), seconds);
  };
  EXPECT_EQ(swapping(6e5, 4e5, 10), "memory");
  EXPECT_EQ(swapping(6e5, 3.9e5, 10), "none");
  EXPECT_EQ(swapping(6e5, 4e5, 9), "none");
  EXPECT_EQ(swapping(6e5, 4e5, 10, 2), "none");  // half as much a second
  EXPECT_EQ(swapping(12e5, 8e5, 20, 2), "memory");
  EXPECT_EQ(judged(quiet({{"system_swap_in_bytes", 5e6}, {"process_major_page_faults", 99}})), "none");  // out is empty
}

TEST(RowClass, CpuQuota) {
  EXPECT_EQ(judged(quiet({{"cgroup_throttled_time", 0.05}, {"process_cpu_usage", 0.45}})), "cpu_quota");
  EXPECT_EQ(judged(quiet({{"cgroup_throttled_time", 0.049}, {"process_cpu_usage", 0.4}})), "none");
  // A tenth of what would have run: T grows with the CPUs.
  EXPECT_EQ(judged(quiet({{"cgroup_throttled_time", 0.2}, {"process_cpu_usage", 1.8}})), "cpu_quota");
  EXPECT_EQ(judged(quiet({{"cgroup_throttled_time", 0.2}, {"process_cpu_usage", 1.81}})), "none");
  EXPECT_EQ(judged(quiet({{"cgroup_throttled_time", 0.05}, {"process_cpu_usage", 0.4}}), own_run(), 2), "none");
  EXPECT_EQ(judged(quiet({{"cgroup_throttled_time", 1}, {"process_cpu_usage", kAbsent}})), "none");
}

TEST(RowClass, Gpu) {
  const auto gpu = [](const Cells& more) {
    Cells cells = quiet({{"process_gpu_utilized", 1}});
    for (const auto& [name, value] : more) cells[name] = value;
    return judged(cells);
  };
  EXPECT_EQ(gpu({{"system_gpu_sm_active", 0.6}}), "gpu_compute");
  EXPECT_EQ(gpu({{"system_gpu_sm_active", 0.59}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_tensor_active", 0.4}}), "gpu_compute");
  EXPECT_EQ(gpu({{"system_gpu_tensor_active", 0.39}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_sm_active", 0.9}, {"process_gpu_utilized", 0}}), "none");  // a stranger's
  EXPECT_EQ(gpu({{"system_gpu_sm_active", 0.9}, {"process_gpu_utilized", kAbsent}}), "none");
  // One of eight is the job's: its own figure counts, whether the others are idle or busy.
  EXPECT_EQ(gpu({{"system_gpu_sm_active", 0.1}, {"process_gpu_sm_active", 0.8}}), "gpu_compute");
  EXPECT_EQ(gpu({{"system_gpu_sm_active", 0.9}, {"process_gpu_sm_active", 0.1}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_tensor_active", 0.05}, {"process_gpu_tensor_active", 0.4}}), "gpu_compute");
  EXPECT_EQ(gpu({{"system_gpu_dram_active", 0.1}, {"process_gpu_dram_active", 0.7}}), "gpu_memory_bandwidth");
  EXPECT_EQ(gpu({{"system_gpu_dram_active", 0.6}}), "gpu_memory_bandwidth");
  EXPECT_EQ(gpu({{"system_gpu_dram_active", 0.59}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_dram_active", 0.9}, {"system_gpu_sm_active", 0.6}}), "gpu_compute");
  EXPECT_EQ(gpu({{"system_gpu_pcie_rx_bytes", 6}, {"system_gpu_pcie_max_bytes_per_s", 10}}), "pcie");
  EXPECT_EQ(gpu({{"system_gpu_pcie_tx_bytes", 6}, {"system_gpu_pcie_max_bytes_per_s", 10}}), "pcie");
  EXPECT_EQ(gpu({{"system_gpu_pcie_tx_bytes", 5.9}, {"system_gpu_pcie_max_bytes_per_s", 10}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_pcie_rx_bytes", 6}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_pcie_rx_bytes", 0}, {"system_gpu_pcie_max_bytes_per_s", 0}}), "none");
  EXPECT_EQ(gpu({{"system_gpu_nvlink_tx_bytes", 60}, {"system_gpu_nvlink_max_bytes_per_s", 100}}), "nvlink");
  // One full link of eight, and one that is a stranger's.
  const auto link = [&](const char* column, double busiest, double sum) {
    return gpu({{column, busiest}, {"system_gpu_pcie_rx_bytes", sum}, {"system_gpu_pcie_max_bytes_per_s", 80}});
  };
  EXPECT_EQ(link("process_gpu_pcie_busiest", 0.6, 6), "pcie");
  EXPECT_EQ(link("process_gpu_pcie_busiest", 0.59, 6), "none");
  EXPECT_EQ(link("process_gpu_pcie_busiest", 0.1, 70), "none");
  EXPECT_EQ(gpu({{"process_gpu_nvlink_busiest", 0.6}}), "nvlink");
  EXPECT_EQ(gpu({{"process_gpu_nvlink_busiest", 0.6}, {"process_gpu_utilized", 0}}), "none");
}

TEST(RowClass, DiskByPressure) {
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_io_some", 0.2}})), "disk latency");
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_io_some", 0.19}})), "none");
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_io_some", 0.25}, {"cgroup_pressure_cpu_some", 0.25}})), "disk latency");
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_io_some", 0.25}, {"cgroup_pressure_cpu_some", 0.26}})), "single_thread");
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_io_some", 0.5}, {"process_cpu_usage", 3.6}})), "cpu saturated");
  EXPECT_EQ(judged(quiet({{"cgroup_pressure_io_some", 0.5}, {"process_cpu_usage", 3.59}})), "disk latency");
  const auto with = [](double bytes, double requests) {
    return judged(quiet({{"cgroup_pressure_io_some", 0.5},
                         {"system_disk_read_bytes", bytes / 2},
                         {"system_disk_write_bytes", bytes / 2},
                         {"system_disk_requests", requests}}));
  };
  EXPECT_EQ(with(65536 * 10, 10), "disk throughput");
  EXPECT_EQ(with(65534 * 10, 10), "disk latency");
  EXPECT_EQ(with(0, 0), "disk latency");
}

TEST(RowClass, WaitingForDiskOrPeer) {
  for (const auto& [column, word] :
       {std::pair("process_waits_disk", "disk latency"), {"process_waits_network", "network peer"}}) {
    const auto with = [&](const Cells& more) {
      Cells cells = quiet({{"process_cpu_usage", 0.2}, {column, 1}});
      for (const auto& [name, value] : more) cells[name] = value;
      return judged(cells);
    };
    EXPECT_EQ(with({}), word);
    EXPECT_EQ(with({{"process_waits_other", 1}}), word);  // half of those that wait
    EXPECT_EQ(with({{"process_waits_other", 2}}), "none");
    EXPECT_EQ(with({{"process_waits_sleep", 9}, {"process_waits_child", 9}, {"process_waits_pipe", 9}}), word);
    EXPECT_EQ(with({{"process_cpu_usage", 0.49}}), word);
    EXPECT_EQ(with({{"process_cpu_usage", 0.5}}), "none");
    EXPECT_EQ(with({{"cgroup_pressure_cpu_some", 0.3}}), "cpu contended");
    EXPECT_EQ(with({{"cgroup_pressure_cpu_some", 0.29}}), word);
    EXPECT_EQ(with({{"cgroup_pressure_cpu_some", kAbsent}}), "none");
  }
  // Half and half: the disk's rule comes first.
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 0}, {"process_waits_disk", 1}, {"process_waits_network", 1}})),
            "disk latency");
}

TEST(RowClass, NetworkByBandwidth) {
  EXPECT_EQ(judged(quiet({{"system_net_busiest", 0.7}})), "network bandwidth");
  EXPECT_EQ(judged(quiet({{"system_net_busiest", 0.69}})), "none");
}

TEST(RowClass, Lock) {
  const auto with = [](double locks, double on_cpu, double others, double cpu) {
    return judged(quiet({{"process_waits_lock", locks},
                         {"process_waits_cpu", on_cpu},
                         {"process_waits_other", others},
                         {"process_cpu_usage", cpu}}));
  };
  EXPECT_EQ(with(2, 2, 0, 1.5), "lock");
  EXPECT_EQ(with(1, 0, 0, 0.6), "none");
  EXPECT_EQ(with(2, 3, 0, 1.5), "none");
  EXPECT_EQ(with(4, 2, 2, 1.5), "lock");
  EXPECT_EQ(with(4, 3, 2, 1.5), "none");
  EXPECT_EQ(with(9, 1, 0, 3.6), "cpu saturated");
  EXPECT_EQ(with(9, 1, 0, 3.59), "lock");
}

TEST(RowClass, Cpu) {
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 3.6}})), "cpu saturated");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 3.5999}})), "none");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 2.7}}), own_run(3)), "cpu saturated");  // 0.9 × 3 is above 2.7
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 2}, {"cgroup_pressure_cpu_some", 0.3}})), "cpu contended");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 2}, {"cgroup_pressure_cpu_some", 0.2999}})), "none");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 3.8}, {"cgroup_pressure_cpu_some", 0.9}})), "cpu saturated");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 1}}), own_run(1)), "cpu saturated");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 2}, {"cgroup_pressure_cpu_some", 0.5}}), own_run(kAbsent)), "cpu");
}

TEST(RowClass, SingleThread) {
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 1.15}})), "single_thread");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 1.1501}})), "none");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 0.85}})), "single_thread");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 0.8499}})), "none");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 0.65}, {"cgroup_pressure_cpu_some", 0.2}})), "single_thread");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 0.85}}), own_run(1)), "none");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 1}, {"cgroup_pressure_cpu_some", kAbsent}})), "none");
}

TEST(RowClass, WaitingNamesTheState) {
  const Cells still{{"process_cpu_usage", 0.0999}, {"process_waits_cpu", 0}, {"process_waits_idle", 0}};
  const auto with = [&](const Cells& more) {
    Cells cells = quiet(still);
    for (const auto& [name, value] : more) cells[name] = value;
    return judged(cells);
  };
  EXPECT_EQ(with({{"process_waits_sleep", 1}}), "waiting sleep");
  EXPECT_EQ(with({{"process_waits_sleep", 1}, {"process_cpu_usage", 0.1}}), "none");
  EXPECT_EQ(with({{"process_waits_pipe", 1}}), "waiting pipe");
  EXPECT_EQ(with({{"process_waits_child", 1}}), "waiting child");
  EXPECT_EQ(with({{"process_waits_idle", 9}}), "waiting idle");
  EXPECT_EQ(with({{"process_waits_idle", 9}, {"process_waits_child", 9}}), "waiting child");  // the first column
  EXPECT_EQ(with({{"process_waits_idle", 9}, {"process_waits_child", 9}, {"process_waits_other", 1}}), "waiting other");
  EXPECT_EQ(with({{"process_waits_pipe", 2}, {"process_waits_sleep", 2}}), "waiting pipe");
  EXPECT_EQ(with({{"process_waits_pipe", 2}, {"process_waits_sleep", 3}}), "waiting sleep");
  EXPECT_EQ(with({{"process_waits_lock", 1}, {"process_waits_sleep", 1}}), "waiting lock");
  EXPECT_EQ(with({{"process_waits_gpu", 1}}), "waiting gpu");
  EXPECT_EQ(with({}), "waiting");
}

TEST(RowClass, TheMachinesPressureStandsInAndMustBeConfirmed) {
  JudgedRun shared = own_run();
  shared.own_cgroup = false;
  Cells cells = quiet({{"cgroup_pressure_io_some", 0.9},
                       {"system_pressure_io_some", 0.5},
                       {"system_pressure_cpu_some", 0},
                       {"system_pressure_memory_full", 0}});
  EXPECT_EQ(judged(cells, shared), "none");  // no thread of the job waits for a disk
  cells["process_waits_disk"] = 1;
  EXPECT_EQ(judged(cells, shared), "disk latency");
  cells["system_pressure_io_some"] = 0;  // what others see in their cgroup does not count
  EXPECT_EQ(judged(cells, shared), "none");
  EXPECT_EQ(judged(quiet({{"system_pressure_cpu_some", 0.9}}), shared), "cpu contended");
  EXPECT_EQ(judged(quiet({{"system_pressure_cpu_some", 0.9}, {"process_waits_cpu", 0}}), shared), "none");
  EXPECT_EQ(judged(quiet({{"process_cpu_usage", 1}, {"system_pressure_cpu_some", 0}}), shared), "single_thread");
  EXPECT_EQ(
      judged(quiet({{"process_cpu_usage", 1}, {"system_pressure_cpu_some", 0}, {"process_waits_cpu", 0}}), shared),
      "none");
  EXPECT_EQ(judged(quiet({{"system_pressure_memory_full", 0.5}}), shared), "none");
  EXPECT_EQ(judged(quiet({{"system_pressure_memory_full", 0.5}, {"process_waits_disk", 1}}), shared), "memory");
  // Its own is not readable for once.
  EXPECT_EQ(judged(quiet(
                {{"cgroup_pressure_io_some", kAbsent}, {"system_pressure_io_some", 0.5}, {"process_waits_disk", 1}})),
            "disk latency");
}

TEST(RowClass, TheMachineAlone) {
  JudgedRun machine = own_run(2);
  machine.machine = true;
  const auto with = [&](const Cells& cells) { return judged(cells, machine); };
  EXPECT_EQ(with({{"system_cpu_usage", 1.8}}), "cpu saturated");
  EXPECT_EQ(with({{"system_cpu_usage", 1}}), "none");
  EXPECT_EQ(with({{"system_cpu_usage", 1}, {"system_pressure_cpu_some", 0}}), "none");  // no single thread
  EXPECT_EQ(with({{"system_cpu_usage", 0}}), "none");                                   // nor waiting
  EXPECT_EQ(with({{"system_cpu_usage", 1}, {"system_pressure_cpu_some", 0.3}}), "cpu contended");
  EXPECT_EQ(with({{"system_cpu_usage", 1}, {"system_pressure_io_some", 0.2}, {"system_pressure_cpu_some", 0}}),
            "disk latency");
  EXPECT_EQ(with({{"system_pressure_memory_full", 0.1}}), "memory");
  EXPECT_EQ(with({{"system_swap_in_bytes", 1e6}, {"system_swap_out_bytes", 0}, {"system_major_page_faults", 10}}),
            "memory");
  EXPECT_EQ(with({{"system_gpu_sm_active", 0.6}}), "gpu_compute");
  EXPECT_EQ(with({{"cgroup_throttled_time", 1}, {"system_cpu_usage", 1}}), "none");
}

TEST(JudgedRun, CoresAndWhoseCgroup) {
  tacho::Run run;
  run.mode = "run";
  run.host.host_vcpus = 8;
  run.method.cpu = "cgroup";
  EXPECT_EQ(JudgedRun::of(run).cores, 8);
  EXPECT_TRUE(JudgedRun::of(run).own_cgroup);
  run.limits.cpuset_cpus = 4;
  EXPECT_EQ(JudgedRun::of(run).cores, 4);
  run.limits.cpu_quota_cores = 1.5;
  EXPECT_EQ(JudgedRun::of(run).cores, 1.5);
  run.host.host_vcpus.reset();
  EXPECT_EQ(JudgedRun::of(run).cores, 1.5);
  for (const char* method : {"subreaper", "attach"}) {
    run.method.cpu = method;
    EXPECT_FALSE(JudgedRun::of(run).own_cgroup) << method;
  }
  run.mode = "watch";
  run.host.host_vcpus = 8;
  EXPECT_EQ(JudgedRun::of(run).cores, 8);  // the machine's, whatever tacho itself may use
}

}  // namespace
}  // namespace tacho
