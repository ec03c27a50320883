#include "os/detach.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "os/child.h"
#include "os/directory.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kNewsPlace = 3;

// Linux before 5.9 has no call for all of them at once.
void close_from(int first) {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0) == 0) return;
  const Fd folder(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<int> open;
  NumericEntries entries(folder.get());
  for (int fd = 0; entries.next(fd);)
    if (fd >= first && fd != folder.get()) open.push_back(fd);
  for (const int fd : open) ::close(fd);
}

void silence(int place) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) ::dup2(null.get(), place);
  else ::close(place);
}

Result<std::pair<Fd, Fd>> high_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", "", errno);
  const Fd low_read(ends[0]), low_write(ends[1]);
  std::pair<Fd, Fd> pipe(high_copy(ends[0]), high_copy(ends[1]));
  if (!pipe.first || !pipe.second) return system_error("cannot make a pipe", "", EMFILE);
  return pipe;
}

}  // namespace

void name_as_detached() { ::prctl(PR_SET_NAME, kDetachedName, 0, 0, 0); }

Result<Detached> detach() {
  name_as_detached();
  auto news = high_pipe();
  if (!news) return news.error();
  auto messages = high_pipe();
  if (!messages) return messages.error();
  const pid_t middle = ::fork();
  if (middle < 0) return system_error("cannot start a process", "", errno);
  if (middle > 0) {
    ::signal(SIGINT, SIG_IGN);  // the line is a moment away; without it nobody would know of the process
    while (::waitpid(middle, nullptr, 0) < 0 && errno == EINTR) {}
    return Detached{false, std::move(news->first), std::move(messages->first)};
  }
  ::setsid();
  if (const pid_t last = ::fork(); last != 0) ::_exit(last < 0 ? 1 : 0);
  silence(0);
  silence(1);
  ::dup2(messages->second.get(), 2);
  Fd told(::dup2(news->second.get(), kNewsPlace));
  ::fcntl(kNewsPlace, F_SETFD, FD_CLOEXEC);
  for (Fd* end : {&news->first, &news->second, &messages->first, &messages->second}) end->reset();
  close_from(kNewsPlace + 1);
  return Detached{true, std::move(told), Fd()};
}

Status settle_detached(Detached& detached, std::string_view line) {
  const Status told = write_all(detached.news.get(), line);
  detached.news.reset();
  silence(2);
  return told;
}

std::string wait_for_detached(const Detached& detached) {
  std::string line;
  pollfd ends[2] = {{detached.news.get(), POLLIN, 0}, {detached.messages.get(), POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (::poll(ends, 2, -1) < 0 && errno != EINTR) break;
    for (pollfd& end : ends) {
      if (end.fd < 0 || end.revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(end.fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) end.fd = -1;
      else if (&end == ends) line.append(buffer, static_cast<size_t>(got));
      else static_cast<void>(write_all(STDERR_FILENO, {buffer, static_cast<size_t>(got)}));
    }
  }
  return line;
}

}  // namespace tacho
