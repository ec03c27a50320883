// burn_inherit: prints as one JSON object what a program gets from the one that started it: descriptors, signal mask
// and dispositions, limits, umask, directory, process group, terminal, environment, scheduling. Two runs, with tacho
// and without, must print the same.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "burner.h"

extern char** environ;

namespace {
using namespace tacho::burner;

std::string descriptors() {
  std::vector<int> numbers;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return "null";
  while (const dirent* entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(folder)) numbers.push_back(fd);
  }
  closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  std::string out = "{";
  for (const int fd : numbers) {
    char target[4096];
    const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    const std::string text = size > 0 ? std::string(target, static_cast<size_t>(size)) : "?";
    if (out.size() > 1) out += ",";
    out += json_string(std::to_string(fd)) + ":" +
           json_string(text + " flags " + std::to_string(fcntl(fd, F_GETFL)) + " fd " +
                       std::to_string(fcntl(fd, F_GETFD)));
  }
  return out + "}";
}

// Lines of /proc/self/status: "SigBlk:\t0000000000000000"
void add_status(Truth& truth) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    for (const char* key : {"SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs",
                            "Seccomp", "Cpus_allowed_list", "Mems_allowed_list", "Uid", "Gid", "Groups"}) {
      if (line.rfind(std::string(key) + ":", 0) == 0) truth.add(key, line.substr(line.find('\t') + 1));
    }
  }
}

std::string limits() {
  std::string out = "[";
  for (int resource = 0; resource < 16; ++resource) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
    if (resource > 0) out += ",";
    out += "[" + std::to_string(limit.rlim_cur) + "," + std::to_string(limit.rlim_max) + "]";
  }
  return out + "]";
}

std::string environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  std::string out = "[";  // in order: it is part of what is handed over
  for (const auto& entry : all) out += (out.size() > 1 ? "," : "") + json_string(entry);
  return out + "]";
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}
}  // namespace

int main(int argc, char** argv) {
  Truth truth("inherit");
  truth.raw("fds", descriptors());
  add_status(truth);
  truth.raw("rlimits", limits());
  const mode_t mask = umask(0);
  truth.add("umask", int64_t{mask});
  char folder[4096];
  truth.add("cwd", getcwd(folder, sizeof folder) != nullptr ? folder : "?");
  truth.add("pgrp", int64_t{getpgrp()});
  truth.add("sid", int64_t{getsid(0)});
  const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
  truth.add("foreground", terminal >= 0 ? int64_t{tcgetpgrp(terminal)} : int64_t{-1});
  truth.add("nice", int64_t{getpriority(PRIO_PROCESS, 0)});
  truth.add("scheduler", int64_t{sched_getscheduler(0)});
  int death_signal = 0, subreaper = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  truth.add("death_signal", int64_t{death_signal});
  truth.add("subreaper", int64_t{subreaper});
  truth.add("timer_slack_ns", int64_t{prctl(PR_GET_TIMERSLACK)});
  truth.add("dumpable", int64_t{prctl(PR_GET_DUMPABLE)});
  truth.add("oom_score_adj", first_line("/proc/self/oom_score_adj"));
  truth.add("coredump_filter", first_line("/proc/self/coredump_filter"));
  truth.add("personality", first_line("/proc/self/personality"));
  truth.raw("env", environment());
  std::string arguments = "[";
  for (int i = 0; i < argc; ++i) arguments += (i > 0 ? "," : "") + json_string(argv[i]);
  truth.raw("argv", arguments + "]");
  truth.add("ppid", int64_t{getppid()});
  truth.print();
  return 0;
}
