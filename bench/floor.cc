// bench_floor PID INTERVAL_MS SAMPLES: the plain kernel floor. Only preads, through descriptors kept open, what a
// tracker must read: the system's files and stat and io of every process of PID's tree, with a pause between samples as
// in real use. Parses nothing, stores nothing. Prints its own CPU time a sample as JSON. The tree is looked up once, at
// the start.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// "4077 4078 4079 " of /proc/PID/task/TID/children, for every thread and every descendant.
void find_tree(const std::string& pid, std::vector<std::string>& tree) {
  tree.push_back(pid);
  DIR* tasks = opendir(("/proc/" + pid + "/task").c_str());
  if (tasks == nullptr) return;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream children("/proc/" + pid + "/task/" + entry->d_name + "/children");
    for (std::string child; children >> child;) find_tree(child, tree);
  }
  closedir(tasks);
}

void keep(std::vector<int>& files, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) files.push_back(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);

  std::vector<std::string> tree;
  find_tree(argv[1], tree);
  std::vector<int> files;
  for (const char* path : {"/proc/stat", "/proc/meminfo", "/proc/diskstats", "/proc/net/dev", "/proc/loadavg"})
    keep(files, path);
  for (const auto& pid : tree) {
    keep(files, "/proc/" + pid + "/stat");
    keep(files, "/proc/" + pid + "/io");
  }
  const int64_t interval_ns = std::atoll(argv[2]) * 1'000'000, samples = std::atoll(argv[3]);
  static char buffer[1 << 16];
  const auto sample = [&files] {
    for (const int fd : files) {
      if (pread(fd, buffer, sizeof buffer, 0) < 0) continue;
    }
    struct statvfs space {};
    statvfs("/", &space);
  };
  sample();  // the first one pays for what the kernel sets up
  int64_t next_ns = clock_ns(CLOCK_MONOTONIC);
  const int64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  for (int64_t i = 0; i < samples; ++i) {
    next_ns += interval_ns;
    const timespec until{next_ns / 1'000'000'000, next_ns % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    sample();
  }
  const int64_t used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
  std::printf("{\"samples\":%lld,\"processes\":%zu,\"us_per_sample\":%.3f}\n", static_cast<long long>(samples),
              tree.size(), static_cast<double>(used_ns) / 1000.0 / static_cast<double>(samples));
  return 0;
}
