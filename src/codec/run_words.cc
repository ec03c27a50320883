#include "codec/run_words.h"

#include <csignal>

namespace tacho {
namespace {

struct StateWord {
  RunState state;
  std::string_view word;
};
constexpr std::array<StateWord, 4> kStates{{{RunState::running, "running"},
                                            {RunState::finished, "finished"},
                                            {RunState::failed, "failed"},
                                            {RunState::interrupted, "interrupted"}}};

struct SignalName {
  int signal;
  std::string_view name;
};
// glibc's sigabbrev_np allocates nothing either, but musl does not have it.
constexpr std::array<SignalName, 31> kSignals{{
    {SIGHUP, "SIGHUP"},       {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},   {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
    {SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},     {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
    {SIGSEGV, "SIGSEGV"},     {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"},   {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
    {SIGSTKFLT, "SIGSTKFLT"}, {SIGCHLD, "SIGCHLD"}, {SIGCONT, "SIGCONT"},   {SIGSTOP, "SIGSTOP"}, {SIGTSTP, "SIGTSTP"},
    {SIGTTIN, "SIGTTIN"},     {SIGTTOU, "SIGTTOU"}, {SIGURG, "SIGURG"},     {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
    {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"}, {SIGWINCH, "SIGWINCH"}, {SIGIO, "SIGIO"},     {SIGPWR, "SIGPWR"},
    {SIGSYS, "SIGSYS"},
}};

}  // namespace

std::string_view state_word(RunState state) {
  for (const StateWord& entry : kStates)
    if (entry.state == state) return entry.word;
  return "running";
}

std::optional<RunState> parse_state(std::string_view word) {
  for (const StateWord& entry : kStates)
    if (entry.word == word) return entry.state;
  return std::nullopt;
}

std::string_view signal_word(int signal) {
  for (const SignalName& entry : kSignals)
    if (entry.signal == signal) return entry.name;
  return {};
}

}  // namespace tacho
