#include "katib/exec/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tacho_exec {
namespace {

constexpr size_t kPath = 4096;

bool join(char (&out)[kPath], const char* folder, const char* name) {
  const int size = snprintf(out, sizeof out, "%s/%s", folder, name);
  return size > 0 && static_cast<size_t>(size) < sizeof out;
}

bool marker_path(char (&out)[kPath], const char* folder) {
  char name[32];
  snprintf(name, sizeof name, "%d.pid", static_cast<int>(getpid()));
  return join(out, folder, name);
}

// Field 22 of /proc/self/stat, `77 (a b) S 1 77 …`: counted from the last bracket, since the name may hold anything.
void start_time(char* out, size_t room) {
  snprintf(out, room, "0");
  char text[4096];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return;
  text[size] = 0;
  char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; field++) at = strchr(at + 1, ' ');
  if (at == nullptr) return;
  const size_t digits = strspn(at + 1, "0123456789");
  if (digits > 0 && digits < room) snprintf(out, room, "%.*s", static_cast<int>(digits), at + 1);
}

bool replace(const char* path, const char* text, mode_t mode) {
  char spare[kPath];
  if (static_cast<size_t>(snprintf(spare, sizeof spare, "%s.%d.tmp", path, static_cast<int>(getpid()))) >= sizeof spare)
    return false;
  unlink(spare);  // of one that was killed, or somebody's link or pipe
  int fd = open(spare, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd >= 0) {
    const bool written = fchmod(fd, mode) == 0 && write_all(fd, text, strlen(text));
    close(fd);
    if (written && rename(spare, path) == 0) return true;
    const int why = errno;
    unlink(spare);
    errno = why;
  }
  // The folder may be closed to us, or sticky, while the file is open to all: write over it. Never empty in between.
  fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);  // a pipe must not make the trainer wait
  if (fd < 0) return false;
  const bool written = write_all(fd, text, strlen(text)) && ftruncate(fd, static_cast<off_t>(strlen(text))) == 0;
  close(fd);
  return written;
}

void make_folders(const char* folder) {
  char path[kPath];
  if (static_cast<size_t>(snprintf(path, sizeof path, "%s", folder)) >= sizeof path) return;
  for (char* at = path + 1; *at != 0; at++) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(path, 0777);
    *at = '/';
  }
  mkdir(path, 0777);
}

}  // namespace

void complain(const char* text, const char* path, int error_number) {
  char line[kPath + 256];
  int size = snprintf(line, sizeof line, "tacho-exec: %s%s%s%s%s\n", text, path[0] != 0 ? ": " : "", path,
                      error_number != 0 ? ": " : "", error_number != 0 ? strerror(error_number) : "");
  if (size > static_cast<int>(sizeof line) - 1) size = sizeof line - 1;
  if (size > 0) write_all(STDERR_FILENO, line, static_cast<size_t>(size));
}

bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool write_record(const char* folder) {
  char path[kPath], start[32], text[64];
  make_folders(folder);
  if (marker_path(path, folder)) unlink(path);
  start_time(start, sizeof start);
  snprintf(text, sizeof text, "%d %s\n", static_cast<int>(getpid()), start);
  return join(path, folder, ".tacho-launcher") && replace(path, text, 0644);
}

bool write_usage(const char* folder) {
  long long used_us = 0;
  constexpr int kWhom[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
  for (const int who : kWhom) {
    struct rusage used {};
    if (getrusage(who, &used) != 0) return false;
    used_us +=
        (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  }
  char path[kPath], start[32], text[96];
  start_time(start, sizeof start);
  snprintf(text, sizeof text, "%d %s %lld\n", static_cast<int>(getpid()), start, used_us);
  return join(path, folder, ".tacho-usage") && replace(path, text, 0644);
}

bool mark_completed(const char* folder) {
  char path[kPath];
  return marker_path(path, folder) && replace(path, "completed\n", 0666);
}

bool was_stopped_early(const char* folder) {
  char path[kPath], text[64];
  if (!marker_path(path, folder)) return false;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return false;
  text[size] = 0;
  // The first line, trimmed.
  const char* begin = text + strspn(text, " \t\r");
  const size_t length = strcspn(begin, "\n");
  constexpr char kWord[] = "early-stopped";
  if (length < sizeof kWord - 1 || strncmp(begin, kWord, sizeof kWord - 1) != 0) return false;
  return strspn(begin + sizeof kWord - 1, " \t\r") >= length - (sizeof kWord - 1);
}

int install(const char* folder) {
  char path[kPath], spare[kPath], buffer[65536];
  make_folders(folder);
  if (!join(path, folder, "exec") || !join(spare, folder, ".exec.tmp"))
    return complain("the folder's name is too long", "", 0), 1;
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (from < 0) return complain("cannot read the launcher", "/proc/self/exe", errno), 1;
  unlink(spare);  // of one that was killed, or somebody's link or pipe
  const int to = open(spare, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0755);
  if (to < 0) return complain("cannot install the launcher; is the volume mounted writable here?", spare, errno), 1;
  ssize_t size = 0;
  while ((size = read(from, buffer, sizeof buffer)) > 0) {
    if (!write_all(to, buffer, static_cast<size_t>(size)))
      return complain("cannot install the launcher", spare, errno), 1;
  }
  // Closed before it gets its name: a file that is open for writing cannot be run.
  if (size < 0 || fchmod(to, 0755) != 0 || close(to) != 0 || rename(spare, path) != 0)
    return complain("cannot install the launcher", path, errno), 1;
  return 0;
}

}  // namespace tacho_exec
