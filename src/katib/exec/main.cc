// tacho-katib-exec, the launcher in the trainer's container: starts the command exactly as the runtime would have,
// copies its output where the collector reads it, passes signals on and leaves a marker that says how it ended. Static,
// without any library: it runs in an image that has nothing but the trainer.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "katib/exec/files.h"
#include "katib/exec/stream.h"

namespace tacho_exec {
namespace {

constexpr int kUsage = 2, kRefused = 125, kNotExecutable = 126, kNotFound = 127;

const char kHelp[] =
    "usage: tacho-katib-exec [--dir FOLDER] [--file LOG] [--note TEXT] -- COMMAND [ARGUMENT...]\n"
    "       tacho-katib-exec --install FOLDER\n"
    "  --dir FOLDER      where the record and the marker for the collector go\n"
    "  --file LOG        copy what the command prints to this file, too\n"
    "  --note TEXT       not used; older collectors look for a text in the command line\n"
    "  --install FOLDER  copy this program to FOLDER/exec\n";

struct Options {
  const char* folder = nullptr;
  const char* log = nullptr;
  char** command = nullptr;
};

struct Started {
  pid_t pid = -1;
  int out = -1, err = -1;  // our ends of the trainer's pipes
};

// What is changed here and must be as it was in the trainer.
struct Before {
  sigset_t mask;
  struct sigaction child, pipe;
};

// The way of execvp, but without its shell for files that are no programs; the runtime has none either.
int run_program(char** command, char** environment) {
  if (command[0][0] == 0) return ENOENT;
  if (strchr(command[0], '/') != nullptr) return execve(command[0], command, environment), errno;
  const char* path = getenv("PATH");
  if (path == nullptr) path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  int result = ENOENT;
  for (const char* at = path;; at++) {
    const size_t length = strcspn(at, ":");
    char full[4096];
    if (length + strlen(command[0]) + 3 < sizeof full) {
      snprintf(full, sizeof full, "%.*s%s%s", static_cast<int>(length), at, length > 0 ? "/" : "./", command[0]);
      execve(full, command, environment);
      if (errno == EACCES) result = EACCES;
      else if (errno != ENOENT && errno != ENOTDIR) return errno;
    }
    at += length;
    if (*at == 0) return result;
  }
}

[[noreturn]] void become_trainer(char** command, const Before& before, int out, int err, int report) {
  setpgid(0, 0);
  if (isatty(STDIN_FILENO) != 0)
    tcsetpgrp(STDIN_FILENO, getpid());  // it reads the terminal, we do not; SIGTTOU is blocked here
  if (out >= 0) dup2(out, STDOUT_FILENO);
  if (err >= 0) dup2(err, STDERR_FILENO);
  sigaction(SIGCHLD, &before.child, nullptr);
  sigaction(SIGPIPE, &before.pipe, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
  const int why = run_program(command, environ);
  write_all(report, reinterpret_cast<const char*>(&why), sizeof why);
  _exit(why == ENOENT || why == ENOTDIR ? kNotFound : kNotExecutable);
}

// Returns an exit code when the command could not be started, −1 when it runs.
int start(const Options& options, const Before& before, Started& started) {
  int out[2] = {-1, -1}, err[2] = {-1, -1}, report[2];
  if (pipe2(report, O_CLOEXEC) != 0 ||
      (options.log != nullptr && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)))
    return complain("cannot make a pipe", "", errno), kRefused;
  const pid_t pid = fork();
  if (pid < 0) return complain("cannot start a process", "", errno), kRefused;
  if (pid == 0) become_trainer(options.command, before, out[1], err[1], report[1]);
  setpgid(pid, pid);  // whoever comes first: a signal may be waiting
  close(report[1]);
  if (out[1] >= 0) close(out[1]);
  if (err[1] >= 0) close(err[1]);
  int why = 0;
  ssize_t got = 0;
  do got = read(report[0], &why, sizeof why);
  while (got < 0 && errno == EINTR);
  close(report[0]);
  started = {pid, out[0], err[0]};
  if (got != sizeof why) return -1;
  waitpid(pid, nullptr, 0);
  const bool missing = why == ENOENT || why == ENOTDIR;
  complain(missing ? "command not found; look at the container's command and PATH" : "cannot run the command",
           options.command[0], why);
  return missing ? kNotFound : kNotExecutable;
}

// All that has ended, orphans of the trainer too. True when the trainer itself is among them.
bool reap(pid_t trainer, int& status) {
  bool ended = false;
  while (true) {
    int one = 0;
    const pid_t pid = waitpid(-1, &one, WNOHANG);
    if (pid <= 0) return ended;
    if (pid != trainer) continue;
    ended = true;
    status = one;
  }
}

void forward(int signals, pid_t trainer) {
  signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    // Our own writes may raise SIGPIPE, which the kernel signs with our pid; only one that somebody sent is for the
    // trainer.
    if (number == SIGCHLD || (number == SIGPIPE && static_cast<pid_t>(info.ssi_pid) == getpid())) continue;
    kill(-trainer, number);
  }
}

int wait_for(const Started& started, const Options& options, int signals, int log) {
  static Stream streams[2];
  if (options.log != nullptr) {
    streams[0].open(started.out, STDOUT_FILENO, log);
    streams[1].open(started.err, STDERR_FILENO, log);
  }
  int status = 0;
  while (!reap(started.pid, status)) {
    pollfd set[5] = {{signals, POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}};
    for (int i = 0; i < 2; i++) {
      if (options.log != nullptr) streams[i].prepare(set[1 + 2 * i], set[2 + 2 * i]);
    }
    if (poll(set, 5, -1) < 0 && errno != EINTR) break;
    if (set[0].revents != 0) forward(signals, started.pid);
    for (int i = 0; i < 2; i++) {
      if (options.log != nullptr) streams[i].step(set[1 + 2 * i], set[2 + 2 * i]);
    }
  }
  if (options.log == nullptr) return status;
  for (Stream& stream : streams) stream.drain();
  bool open_line = false;
  for (Stream& stream : streams) stream.finish(open_line);
  return status;
}

int finish(const Options& options, int status) {
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (options.folder == nullptr) return code;
  write_usage(options.folder);  // where it cannot be written, the collector knows what it saw itself
  if (code != 0) {
    if (!was_stopped_early(options.folder)) return code;
    const char kMessage[] = "Training Container was Early Stopped\n";
    write_all(STDOUT_FILENO, kMessage, sizeof kMessage - 1);
  }
  if (!mark_completed(options.folder))
    complain("cannot write the marker; the trial may count as failed", options.folder, errno);
  return 0;
}

int run(const Options& options) {
  Before before;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before.mask);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &before.child);  // ignored ones could not be reaped
  sigaction(SIGPIPE, &standard, &before.pipe);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (options.folder != nullptr && !write_record(options.folder))
    complain("cannot write the record for the collector", options.folder, errno);
  int log = -1;
  if (options.log != nullptr) {
    // A second attempt begins anew, as a shell's redirection would.
    log = open(options.log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (log < 0) complain("cannot open the log for the collector; metrics will be missing", options.log, errno);
  }
  Started started;
  const int refused = start(options, before, started);
  if (refused >= 0) return refused;
  return finish(options, wait_for(started, options, signals, log));
}

int main_of(int argc, char** argv) {
  Options options;
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      return write_all(STDOUT_FILENO, kHelp, sizeof kHelp - 1) ? 0 : 1;
    const char* name = argv[i];
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (value == nullptr) return complain("an option without value; see --help", name, 0), kUsage;
    if (strcmp(name, "--install") == 0) return install(value);
    if (strcmp(name, "--dir") == 0) options.folder = value;
    else if (strcmp(name, "--file") == 0) options.log = value;
    else if (strcmp(name, "--note") != 0) return complain("unknown option; see --help", name, 0), kUsage;
  }
  if (i + 1 >= argc) return complain("no command; write it behind --", "", 0), kUsage;
  options.command = argv + i + 1;
  return run(options);
}

}  // namespace
}  // namespace tacho_exec

int main(int argc, char** argv) { return tacho_exec::main_of(argc, argv); }
