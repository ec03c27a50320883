// tacho top [RUN|--pid N]: a live view of a run that is being recorded, of a process, or of the machine.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/top_sources.h"
#include "engine/settings.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/text_table.h"
#include "report/live/top_terminal.h"

namespace tacho {
namespace {

struct TopWish {
  bool once = false, json = false, color = false;
  int64_t interval_ns = 0;
};

std::string as_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The picture as text that may go anywhere.
std::string plain_picture(const LiveState& state) {
  const size_t columns = terminal_width(STDOUT_FILENO);
  return as_text(live_picture(state, {}, {columns, 0, false, locale_is_ascii(), false}).lines);
}

class TopLoop {
 public:
  TopLoop(TopSource& source, Job& job, const TopWish& wish) : source_(source), job_(job), wish_(wish) {}

  Status run() {
    if (!wish_.once && !wish_.json && ::isatty(STDOUT_FILENO) == 1) {
      auto terminal = TopTerminal::open();
      if (!terminal) return terminal.error();
      terminal_.emplace(std::move(*terminal));
    }
    int64_t next_ns = clock_.monotonic_ns() + (source_.waits_first() ? wish_.interval_ns : 0);
    bool goes_on = true;
    if (const Status status = draw(); !status) return status;
    while (goes_on) {
      if (!wait(next_ns)) return ok();
      if (clock_.monotonic_ns() >= next_ns) {
        next_ns = std::max(next_ns + wish_.interval_ns, clock_.monotonic_ns());
        if (!choice_.paused) goes_on = look();
      }
      if (const Status status = draw(); !status) return status;
    }
    // What it ended with stays on the screen.
    if (terminal_ && source_.state().ended) {
      terminal_.reset();
      const TerminalSize size = terminal_size(STDOUT_FILENO);
      const Window window{size.columns, size.lines - 1, false, locale_is_ascii(), false};
      print(as_text(live_picture(source_.state(), {}, window).lines));
    }
    return ok();
  }

 private:
  // False when it is over: by a key, a signal, or the end of the process.
  bool wait(int64_t deadline_ns) {
    const std::span<pollfd> signals = job_.poll_set();
    std::vector<pollfd> ready(signals.begin(), signals.end());
    if (terminal_ && terminal_->key_fd() >= 0) ready.push_back({terminal_->key_fd(), POLLIN, 0});
    clock_.wait(ready, deadline_ns);
    for (size_t i = 0; i < signals.size(); ++i) signals[i].revents = ready[i].revents;
    const short keys = ready.size() > signals.size() ? ready.back().revents : short{0};
    if (job_.handle_events() || job_.ended()) return false;
    job_.check_alive();
    if (job_.ended() || (keys & (POLLHUP | POLLERR | POLLNVAL)) != 0) return false;
    return keys == 0 || apply_keys(terminal_->read_keys(), page_, choice_) != KeyEffect::quit;
  }

  bool look() {
    const bool goes_on = source_.look([&](const Row& row, bool newest) {
      if (wish_.json && (newest || !wish_.once)) {
        LiveState bare;  // only the newest row has the processes of now
        const LiveState& shown = newest ? source_.state() : bare;
        bare.of_record = source_.state().of_record;
        return print(live_json(shown, source_.schema(), row)) == 0;
      }
      if (!terminal_ && !wish_.once && !wish_.json) return print(source_.state().figures.line()) == 0;
      return true;
    });
    if (!wish_.once) return goes_on;
    if (!wish_.json) print(plain_picture(source_.state()));
    return false;
  }

  Status draw() {
    if (!terminal_) return ok();
    const TerminalSize size = terminal_size(STDOUT_FILENO);
    const Picture picture =
        live_picture(source_.state(), choice_, {size.columns, size.lines, wish_.color, locale_is_ascii(), true});
    choice_.first = picture.first;
    page_ = picture.page;
    return terminal_->draw(picture.lines);
  }

  TopSource& source_;
  Job& job_;
  TopWish wish_;
  Clock& clock_ = system_clock();
  std::optional<TopTerminal> terminal_;
  LiveChoice choice_;
  size_t page_ = 0;
};

}  // namespace

int top_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  auto settings = resolve(started.line, kTop, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto& words = started.line.words;
  const auto is_pid = [](const Given& given) { return given.option->name == "pid"; };
  const bool by_pid = std::any_of(started.line.given.begin(), started.line.given.end(), is_pid);
  if (words.size() > 1 || (by_pid && !words.empty()))
    return refuse({Code::invalid, "top takes one run, or --pid PID, or nothing", words.back(), "write tacho top last"});
  const TopWish wish{is_set(started.line, "once"), is_set(started.line, "json"),
                     use_color(settings->color, STDOUT_FILENO), settings->interval_ns};
  for (const char* secret : kTokenVariables) wipe_environment(secret);  // looking sends nothing
  Job job([](const Exit&) {}, [](pid_t) { return false; });  // the signals, from before the terminal is taken
  Result<std::unique_ptr<TopSource>> source = Error{};
  if (!words.empty()) {
    const auto input = read_input(settings->store_dir, words[0]);
    if (!input && input.error().code == Code::gone && parse_int<pid_t>(words[0]))
      return refuse({Code::gone, "there is no such run", words[0], "a process: tacho top --pid " + words[0]});
    if (!input) return refuse(input.error());
    if (!input->members.empty())
      return refuse({Code::invalid, "top shows one run at a time", words[0],
                     "its newest is " + input->members.back().shown_id() + "; tacho show has the whole group"});
    source = recorded_source(*input);
  } else {
    source = sampled_source(*settings, job);
  }
  if (!source) return refuse(source.error());
  const Status status = TopLoop(**source, job, wish).run();
  return status ? 0 : refuse(status.error());
}

}  // namespace tacho
