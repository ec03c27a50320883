#include "job/job_cgroup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/text.h"
#include "os/file.h"
#include "os/unique.h"

namespace tacho {
namespace {

constexpr std::string_view kPrefix = "tacho-";
constexpr size_t kNameDigits = 4;

// "tacho-4711-a1b2". Anything else is somebody's own, whatever it begins with.
bool is_job_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return false;
  const auto pid = parse_int<pid_t>(name.substr(0, dash));
  const std::string_view digits = name.substr(dash + 1);
  return pid && *pid > 0 && digits.size() == kNameDigits &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

constexpr int kMostAttempts = 4;
constexpr int kMoveRounds = 4;  // a process may fork while the others are moved

bool is_ours(const Fd& folder) {
  struct stat info {};
  return folder && ::fstat(folder.get(), &info) == 0 && info.st_uid == ::geteuid();
}

bool is_unpopulated(const std::string& path) {
  const auto events = read_whole_file(path + "/cgroup.events", 1 << 12);
  return events && events->find("populated 0") != std::string::npos;
}

// With those that the job made in it, where they are ours; one with a process in it refuses to go.
void remove_with_all_below(const std::string& path) {
  if (::rmdir(path.c_str()) == 0) return;
  std::vector<std::string> below;
  list_directory(path, [&](std::string_view name) { below.push_back(path + "/" + std::string(name)); });
  for (const std::string& one : below)
    if (is_ours(Fd(::open(one.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)))) remove_with_all_below(one);
  ::rmdir(path.c_str());
}

// Cgroups of runs of ours whose tacho is gone, nobody holds the lock on them, and whose processes are gone, too.
void remove_stale(const std::string& parent) {
  list_directory(parent, [&](std::string_view name) {
    if (!is_job_name(name)) return;
    const std::string path = parent + "/" + std::string(name);
    const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (is_ours(fd) && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_unpopulated(path)) remove_with_all_below(path);
  });
}

// What outlived the job goes where it would be without tacho: "1234\n" per process, written one by one as the kernel
// wants it.
void move_processes(const std::string& from, const std::string& to) {
  const Fd target(::open((to + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!target) return;
  for (int round = 0; round < kMoveRounds; ++round) {
    const auto pids = read_whole_file(from + "/cgroup.procs", 1 << 22);
    if (!pids || pids->empty()) return;
    for (const std::string_view pid : split(*pids, '\n')) {
      if (pid.empty() || pid == "0") continue;  // 0: not of our pid namespace, and written it would mean tacho itself
      [[maybe_unused]] const auto status = write_all(target.get(), pid);  // one that has just ended is refused
    }
  }
}

}  // namespace

Result<JobCgroup> JobCgroup::create(const std::string& parent) {
  if (parent.empty()) return Error{Code::not_available, "there is no cgroup v2 hierarchy", "", ""};
  JobCgroup group;
  // Another tacho that starts now may take one that is not locked yet for an old one.
  for (int attempt = 0; attempt < kMostAttempts && !group.fd_; ++attempt) {
    const std::string path =
        parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-" + random_hex(kNameDigits);
    if (::mkdir(path.c_str(), 0755) != 0) return system_error("cannot make a cgroup for the job", parent, errno);
    group.path_ = path;
    Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // The lock says that this run is alive.
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && file_exists(path)) group.fd_ = std::move(fd);
    else ::rmdir(path.c_str());
  }
  if (!group.fd_ || !file_exists(group.path_ + "/cpu.stat"))
    return Error{Code::not_available, "the cgroup has no cpu.stat", group.path_, "Linux 4.15 or newer has it"};
  remove_stale(parent);
  return group;
}

JobCgroup::JobCgroup(JobCgroup&& other) noexcept : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}

JobCgroup& JobCgroup::operator=(JobCgroup&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    fd_ = std::move(other.fd_);
  }
  return *this;
}

void JobCgroup::kill_all() {
  if (path_.empty()) return;
  const Fd fd(::open((path_ + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (fd) [[maybe_unused]]
    const auto status = write_all(fd.get(), "1");
}

bool JobCgroup::remove() {
  if (path_.empty()) return true;
  bool was_empty = ::rmdir(path_.c_str()) == 0 || errno == ENOENT;
  if (!was_empty && is_unpopulated(path_)) {
    remove_with_all_below(path_);
    was_empty = true;
  }
  if (!was_empty) {
    remove_stale(path_);
    move_processes(path_, path_.substr(0, path_.rfind('/')));
    ::rmdir(path_.c_str());
  }
  path_.clear();
  fd_.reset();
  return was_empty;
}

}  // namespace tacho
