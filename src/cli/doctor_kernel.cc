// What the kernel offers: /proc, namespaces, cgroups, pidfd, subreaper, perf, PSS, delay accounting.
#include <unistd.h>

#include "base/text.h"
#include "cli/doctor.h"
#include "discover/cgroups.h"
#include "job/job_cgroup.h"
#include "os/process.h"

namespace tacho {
namespace {

Finding check_proc(const Roots& roots) {
  Finding finding{"/proc", Health::ok, "", "", ""};
  size_t processes = 0;
  list_directory(roots.proc, [&](std::string_view name) { processes += parse_int<int>(name).has_value() ? 1u : 0u; });
  if (!read_first_line(roots.proc + "/stat").starts_with("cpu")) {
    finding = {"/proc",
               Health::broken,
               roots.proc + "/stat cannot be read",
               "nothing can be measured without it",
               "mount proc: mount -t proc proc /proc",
               true};
  } else if (proc_view(roots.proc) != ProcView::ours) {
    finding = {"/proc",
               Health::broken,
               "/proc is of another PID namespace",
               "the job's processes cannot be found in it",
               "mount proc anew inside the namespace: mount -t proc proc /proc",
               true};
  } else {
    finding.seen = "readable, " + std::to_string(processes) + " processes visible";
  }
  return finding;
}

// mountinfo: `22 28 0:20 / /proc rw,nosuid - proc proc rw,hidepid=invisible`
Finding check_hidepid(const Roots& roots) {
  const std::string mounts = read_whole_file(roots.proc + "/self/mountinfo").value_or("");
  for (const std::string_view line : split(mounts, '\n')) {
    if (line.find(" /proc ") == std::string_view::npos) continue;
    const size_t at = line.find("hidepid=");
    if (at == std::string_view::npos) continue;
    const std::string mode(line.substr(at, line.find(',', at) - at));
    if (mode == "hidepid=0" || mode == "hidepid=off" || ::geteuid() == 0) continue;
    return {"hidepid", Health::limited, "/proc is mounted with " + mode,
            "processes of other users are not seen; your own jobs are complete",
            "mount -o remount,hidepid=0 /proc, or join the group of gid="};
  }
  return {"hidepid", Health::ok, "all processes may be seen", "", ""};
}

Finding check_pid_namespace(const Roots& roots) {
  // The first PID namespace has a fixed number, PROC_PID_INIT_INO of include/linux/proc_ns.h.
  const std::string link = read_link(roots.proc + "/self/ns/pid");
  if (link == "pid:[4026531836]") return {"PID namespace", Health::ok, "the machine's own", "", ""};
  if (link.empty()) return {"PID namespace", Health::limited, "cannot be read", "container or not is unknown", ""};
  return {"PID namespace", Health::ok, "a container's (" + link + "); processes outside are not seen", "", ""};
}

Finding check_cgroups(const Roots& roots) {
  const CgroupPaths paths = find_cgroups(roots, 0);
  std::string v1;
  for (const auto& [name, folder] :
       {std::pair("cpu", paths.cpu), std::pair("cpuacct", paths.cpuacct), std::pair("memory", paths.memory),
        std::pair("blkio", paths.blkio), std::pair("cpuset", paths.cpuset)})
    if (!folder.empty()) (v1 += v1.empty() ? "" : ",") += name;
  if (paths.unified.empty() && v1.empty())
    return {"cgroups", Health::limited, "none", "container limits, throttling and OOM kills are not seen",
            "mount -t cgroup2 none /sys/fs/cgroup"};
  if (v1.empty()) return {"cgroups", Health::ok, "v2 at " + paths.unified, "", ""};
  if (paths.unified.empty()) return {"cgroups", Health::ok, "v1 with " + v1, "", ""};
  return {"cgroups", Health::ok, "hybrid: v2 at " + paths.unified + ", v1 with " + v1, "", ""};
}

// Made as a session makes it, and removed again.
Finding check_job_cgroup(const Roots& roots) {
  const CgroupPaths paths = find_cgroups(roots, 0);
  const auto group = JobCgroup::create(paths.unified);
  if (group) return {"job cgroup", Health::ok, "can be made in " + paths.unified, "", ""};
  return {"job cgroup", Health::limited, group.error().message(),
          "the job's CPU time is summed over its process tree instead of by the kernel",
          "run as root, or in a delegated scope: systemd-run --user --scope -p Delegate=yes tacho run -- CMD"};
}

Finding check_pidfd(const Roots&) {
  if (open_pidfd(::getpid())) return {"pidfd", Health::ok, "available", "", ""};
  return {"pidfd", Health::limited, "not available", "the end of an attached process is noticed by polling",
          "Linux 5.3 or newer; in a container, a seccomp profile that allows pidfd_open"};
}

Finding check_subreaper(const Roots&) {
  if (become_subreaper()) return {"subreaper", Health::ok, "available", "", ""};
  return {"subreaper", Health::limited, "refused", "daemons that leave the job's tree are lost from the sum",
          "a seccomp profile that allows prctl"};
}

Finding check_perf(const Roots& roots) {
  const std::string text = read_first_line(roots.proc + "/sys/kernel/perf_event_paranoid");
  const auto level = parse_int<int>(text);
  const std::string seen = level ? "kernel.perf_event_paranoid is " + text : "no perf events in this kernel";
  if (level && (*level <= 2 || ::geteuid() == 0)) return {"perf events", Health::ok, seen, "", ""};
  return {"perf events", level ? Health::limited : Health::not_applicable, seen, "hardware counters stay empty",
          level ? "sysctl kernel.perf_event_paranoid=2" : "a kernel with perf events, if hardware counters are wanted"};
}

Finding check_pss(const Roots& roots) {
  const auto text = read_whole_file(roots.proc + "/self/smaps_rollup");
  if (text && text->find("\nPss:") != std::string::npos) return {"PSS", Health::ok, "readable", "", ""};
  return {"PSS", Health::limited, "smaps_rollup cannot be read",
          "the job's memory is RSS, which counts shared pages several times",
          "Linux 4.14 or newer with CONFIG_PROC_PAGE_MONITOR"};
}

Finding check_delay_accounting(const Roots& roots) {
  const std::string value = read_first_line(roots.proc + "/sys/kernel/task_delayacct");
  if (value == "1") return {"I/O wait of the job", Health::ok, "kernel.task_delayacct is 1", "", ""};
  return {"I/O wait of the job", Health::limited, "kernel.task_delayacct is " + (value.empty() ? "not there" : value),
          "process_iowait stays empty", "sysctl kernel.task_delayacct=1"};
}

}  // namespace

void examine_kernel(const Roots& roots, std::vector<Finding>& findings) {
  for (const auto check : {check_proc, check_hidepid, check_pid_namespace, check_cgroups, check_job_cgroup, check_pidfd,
                           check_subreaper, check_perf, check_pss, check_delay_accounting})
    findings.push_back(check(roots));
}

}  // namespace tacho
