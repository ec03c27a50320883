// burn_walk FILE PID PERIOD_MS below|tree|session: the oracle of burn_random_tree's tree. Walks all of /proc every
// PERIOD_MS, with no shortcut: below: everything that descends from PID, without PID itself; tree: PID and its
// descendants; session: those of its session, too. Who was one of them stays one until it ends. A line a walk: begin,
// end (seconds, the clock of the wall), processes alive but for the root, their resident KiB with the root, and of the
// ledger CPU seconds, processes started and ended, and KiB forked; then number, start and KiB of each that has memory.
// Lasts until PID is gone.
#include <dirent.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "burner.h"
#include "random_tree.h"

namespace {

struct Process {
  int pid = 0, parent = 0, session = 0;
  char state = '?';
  long long start = 0, pages = 0, threads = 0;
  // One whose first thread has ended lives on in the others.
  bool ended() const { return state == 'X' || (state == 'Z' && threads <= 1); }
};

bool read_stat(int pid, Process& out) {
  char path[40], text[2048];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  const size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[size] = '\0';
  const char* after = std::strrchr(text, ')');
  if (size == 0 || after == nullptr) return false;
  out.pid = pid;
  return std::sscanf(after + 1,
                     " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lld %*d %lld %*u %lld",
                     &out.state, &out.parent, &out.session, &out.threads, &out.start, &out.pages) == 6;
}

// stat tells a part only: each CPU keeps some pages to itself. One that has ended meanwhile has what stat told.
long long resident_pages(const Process& process) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/statm", process.pid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return process.pages;
  long long pages = 0;
  const bool told = std::fscanf(file, "%*d %lld", &pages) == 1 && pages > 0;
  std::fclose(file);
  return told ? pages : process.pages;
}

// Between vfork and exec, however long that takes on a loaded machine, a child runs in its parent's memory.
bool has_memory_of(const Process& child, int parent) {
  return child.pages > 0 && syscall(SYS_kcmp, child.pid, parent, KCMP_VM, 0, 0) == 0;
}

double wall() { return static_cast<double>(tacho::burner::clock_ns(CLOCK_REALTIME)) * 1e-9; }

}  // namespace

int main(int argc, char** argv) {
  using namespace tacho::burner;
  if (argc < 5) return 2;
  TreeLedger* const ledger = map_ledger(argv[1]);
  const auto root = static_cast<int>(number(argc, argv, 2, 0));
  const int64_t period_ms = number(argc, argv, 3, 10);
  const bool by_session = std::strcmp(argv[4], "session") == 0, with_root = std::strcmp(argv[4], "below") != 0;
  std::map<int, long long> known;  // number and start
  std::vector<Process> all;
  std::string each;
  const long page_kib = sysconf(_SC_PAGESIZE) / 1024;
  for (;;) {
    const double begin = wall();
    const double cpu_s = static_cast<double>(ledger->cpu_ns) * 1e-9;
    const int64_t started = ledger->started, ended = ledger->ended, forked_kib = ledger->forked_kib;
    all.clear();
    DIR* const folder = opendir("/proc");
    while (const dirent* entry = readdir(folder)) {
      Process process;
      const int pid = std::atoi(entry->d_name);
      if (pid > 0 && read_stat(pid, process)) all.push_back(process);
    }
    closedir(folder);
    const auto top = std::find_if(all.begin(), all.end(), [&](const Process& process) { return process.pid == root; });
    if (top == all.end() || top->ended()) return 0;
    std::map<int, long long> members;
    for (const Process& process : all) {
      const auto before = known.find(process.pid);
      const bool stays = before != known.end() && before->second == process.start;
      if (process.pid == root || stays || (by_session && process.session == root)) members[process.pid] = process.start;
    }
    for (bool more = true; more;) {
      more = false;
      for (const Process& process : all)
        if (members.count(process.parent) != 0 && members.emplace(process.pid, process.start).second) more = true;
    }
    long long alive = 0, pages = 0;
    each.clear();
    for (const Process& process : all) {
      if (members.count(process.pid) == 0 || process.ended()) continue;
      if (process.pid != root) ++alive;
      const bool shares = members.count(process.parent) != 0 && has_memory_of(process, process.parent);
      if ((process.pid == root && !with_root) || shares) continue;
      const long long own = resident_pages(process);
      pages += own;
      if (own > 0)
        each += " " + std::to_string(process.pid) + ":" + std::to_string(process.start) + ":" +
                std::to_string(own * page_kib);
    }
    known.swap(members);
    std::printf("%.4f %.4f %lld %lld %.6f %" PRId64 " %" PRId64 " %" PRId64 "%s\n", begin, wall(), alive,
                pages * page_kib, cpu_s, started, ended, forked_kib, each.c_str());
    std::fflush(stdout);
    sleep_ms(period_ms);
  }
}
