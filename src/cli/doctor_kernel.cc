// What the kernel offers: /proc, namespaces, cgroups, pidfd, subreaper, perf, PSS, delay accounting.
#include <unistd.h>

#include "base/text.h"
#include "cli/doctor.h"
#include "os/process.h"

namespace tacho {
namespace {

Finding check_proc(const Roots& roots) {
  Finding finding{"/proc", Health::ok, "", "", ""};
  size_t processes = 0;
  list_directory(roots.proc, [&](std::string_view name) { processes += parse_int<int>(name).has_value() ? 1u : 0u; });
  if (!read_first_line(roots.proc + "/stat").starts_with("cpu")) {
    finding = {"/proc", Health::missing, roots.proc + "/stat cannot be read", "nothing can be measured without it",
               "mount proc: mount -t proc proc /proc", true};
  } else if (roots.proc == "/proc" && read_link("/proc/self") != std::to_string(::getpid())) {
    finding = {"/proc", Health::missing, "/proc is of another PID namespace", "the job's processes cannot be found in it",
               "mount proc anew inside the namespace: mount -t proc proc /proc", true};
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

struct OwnCgroups {
  std::string v2_path;           // this process's path in the v2 hierarchy
  bool v2 = false;
  std::string v1_controllers;
};

// /proc/self/cgroup: `4:memory:/a/b` (v1), `0::/a/b` (v2).
OwnCgroups own_cgroups(const Roots& roots) {
  OwnCgroups own;
  const std::string text = read_whole_file(roots.proc + "/self/cgroup").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const size_t first = line.find(':'), second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) own.v2 = true, own.v2_path = line.substr(second + 1);
    else (own.v1_controllers += own.v1_controllers.empty() ? "" : ",") += controllers;
  }
  return own;
}

Finding check_cgroups(const Roots& roots) {
  const OwnCgroups own = own_cgroups(roots);
  if (own.v2 && own.v1_controllers.empty()) return {"cgroups", Health::ok, "v2", "", ""};
  if (own.v2) return {"cgroups", Health::ok, "hybrid: v2, and v1 with " + own.v1_controllers, "", ""};
  if (!own.v1_controllers.empty()) return {"cgroups", Health::ok, "v1 with " + own.v1_controllers, "", ""};
  return {"cgroups", Health::missing, "none", "container limits, throttling and OOM kills are not seen",
          "mount -t cgroup2 none /sys/fs/cgroup"};
}

// The folder of this process in the v2 hierarchy: mountinfo `30 23 0:26 /root /mount/point rw - cgroup2 cgroup2 rw`.
std::string v2_folder(const Roots& roots, const std::string& path) {
  const std::string mounts = read_whole_file(roots.proc + "/self/mountinfo").value_or("");
  for (const std::string_view line : split(mounts, '\n')) {
    if (line.find(" - cgroup2 ") == std::string_view::npos) continue;
    const auto words = split(line, ' ');
    if (words.size() < 5) continue;
    const std::string_view root = words[3];
    std::string_view below = path;
    if (root != "/" && below.starts_with(root)) below.remove_prefix(root.size());
    return std::string(words[4]) + (below == "/" ? "" : std::string(below));
  }
  return {};
}

Finding check_job_cgroup(const Roots& roots) {
  constexpr std::string_view kWhy = "the job's CPU time is summed over its process tree instead of by the kernel";
  const OwnCgroups own = own_cgroups(roots);
  const std::string folder = own.v2 ? v2_folder(roots, own.v2_path) : "";
  if (folder.empty()) return {"job cgroup", Health::limited, "no cgroup v2 mount found", std::string(kWhy), ""};
  const std::string trial = folder + "/tacho-doctor-" + std::to_string(::getpid());
  if (const Status made = make_directories(trial, 0755); !made)
    return {"job cgroup", Health::limited, "cannot be made in " + folder + ": " + made.error().hint, std::string(kWhy),
            "run as root, or inside a delegated scope: systemd-run --user --scope -p Delegate=yes tacho run -- CMD"};
  ::rmdir(trial.c_str());
  return {"job cgroup", Health::ok, "can be made in " + folder, "", ""};
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
  return {"perf events", level ? Health::limited : Health::missing, seen, "hardware counters stay empty",
          level ? "sysctl kernel.perf_event_paranoid=2" : ""};
}

Finding check_pss(const Roots& roots) {
  const auto text = read_whole_file(roots.proc + "/self/smaps_rollup");
  if (text && text->find("\nPss:") != std::string::npos) return {"PSS", Health::ok, "readable", "", ""};
  return {"PSS", Health::limited, "smaps_rollup cannot be read", "the job's memory is RSS, which counts shared pages several times",
          "Linux 4.14 or newer with CONFIG_PROC_PAGE_MONITOR"};
}

Finding check_delay_accounting(const Roots& roots) {
  const std::string value = read_first_line(roots.proc + "/sys/kernel/task_delayacct");
  if (value == "1") return {"I/O wait of the job", Health::ok, "kernel.task_delayacct is 1", "", ""};
  return {"I/O wait of the job", Health::limited, value.empty() ? "kernel.task_delayacct is not there" : "kernel.task_delayacct is " + value,
          "process_iowait stays empty", "sysctl kernel.task_delayacct=1"};
}

}  // namespace

void examine_kernel(const Roots& roots, std::vector<Finding>& findings) {
  for (const auto check : {check_proc, check_hidepid, check_pid_namespace, check_cgroups, check_job_cgroup, check_pidfd,
                           check_subreaper, check_perf, check_pss, check_delay_accounting})
    findings.push_back(check(roots));
}

}  // namespace tacho
