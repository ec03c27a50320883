#include "kube/webhook/follow_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "kube/api/api_client.h"
#include "net/http/url.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr int64_t kRequestMs = 4 * 3'600'000;  // one stream; then it is asked for again
constexpr int64_t kPreviousMs = 60'000;
// How long a container that may be started again is waited for where the pod's status cannot be read. The first restart
// comes at once, the second after ten seconds, a third after twenty.
constexpr int64_t kRestartNs = 45 * kNsPerSec;
constexpr size_t kLongLine = 1u << 20;  // of more, the beginning is written before the end has come
constexpr int kQuietEnds = 3;           // so many streams in a row that end without a new line: the container has ended

// `2026-11-15T10:00:00.5Z` with nine digits of a fraction; empty when it is no time.
std::string full_time(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z' || text[4] != '-' || text[10] != 'T') return "";
  std::string out(text.substr(0, 19));
  std::string fraction(text.size() > 20 && text[19] == '.' ? text.substr(20, text.size() - 21) : "");
  fraction.resize(9, '0');
  return out + "." + fraction;
}

}  // namespace

bool LogLines::put(std::string_view line, bool ended) {
  const size_t blank = line.find(' ');
  const std::string time = full_time(line.substr(0, blank));
  std::string text(time.empty() || blank == line.npos ? (time.empty() ? line : "") : line.substr(blank + 1));
  if (ended) text += '\n';
  stamped_ = !time.empty();
  left_out_ = true;
  if (stamped_) {
    if (catching_up_ && time < last_) return true;
    if (catching_up_ && time == last_ && skipped_ < same_) return ++skipped_, true;
    catching_up_ = false;
    same_ = time == last_ ? same_ + 1 : 1;
    last_ = time;
  }
  left_out_ = false;
  lines_++;
  if (std::exchange(owes_end_, false)) text.insert(0, 1, '\n');
  return write_(text);
}

bool LogLines::take(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    const bool ended = end != std::string_view::npos;
    const std::string_view part = piece.substr(0, end);
    const std::string_view with_end = piece.substr(0, ended ? end + 1 : piece.size());
    piece.remove_prefix(with_end.size());
    if (in_long_) {
      if (!left_out_ && !write_(with_end)) return false;
      in_long_ = !ended;
      continue;
    }
    rest_ += part;
    if (!ended && rest_.size() <= kLongLine) continue;
    const std::string line = std::exchange(rest_, {});
    in_long_ = !ended;
    if (!put(line, ended)) return false;
  }
  return true;
}

// Half a line comes again, and some before it. Of a long one the beginning is out already: it ends there, and follows
// whole.
void LogLines::resume() {
  if (in_long_ && !left_out_) {
    owes_end_ = true;
    if (stamped_) same_--;
  }
  rest_.clear();
  in_long_ = false;
  skipped_ = 0;
  catching_up_ = true;
}

bool LogLines::finish() {
  if (rest_.empty()) return true;
  const std::string line = std::move(rest_);
  rest_.clear();
  return put(line, false);
}

std::string LogLines::since() const { return last_.empty() ? "" : last_.substr(0, 19) + "Z"; }

ContainerFate container_fate(const Json& pod, const std::string& container, int64_t& restarts) {
  const Json* list = find(pod, {"status", "containerStatuses"});
  if (list == nullptr || !list->is_array()) return ContainerFate::unknown;
  for (const Json& one : *list) {
    if (text_at(one, {"name"}) != container) continue;
    if (const Json* count = find(one, {"restartCount"}); count != nullptr && count->is_number_integer())
      restarts = count->get<int64_t>();
    const Json* ended = find(one, {"state", "terminated"});
    if (ended == nullptr || !ended->is_object()) return ContainerFate::runs;
    const std::string policy = text_at(pod, {"spec", "restartPolicy"});
    const Json* code = find(*ended, {"exitCode"});
    const bool good = code != nullptr && code->is_number_integer() && code->get<int64_t>() == 0;
    const bool dying = find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
    const bool again = !dying && policy != "Never" && !(policy == "OnFailure" && good);
    return again ? ContainerFate::runs : ContainerFate::over;
  }
  return ContainerFate::unknown;
}

namespace {

struct FollowOptions {
  std::string kubeconfig, ns, pod, container, file, restart = "Never";
};

// One container's log, over its restarts.
class Follower {
 public:
  Follower(ApiClient& client, const FollowOptions& options, LogLines& lines)
      : client_(client), options_(options), lines_(lines) {}
  void run();

 private:
  ApiAnswer read(bool previous);
  ContainerFate look();
  bool wait_for_more(bool new_lines);

  ApiClient& client_;
  const FollowOptions& options_;
  LogLines& lines_;
  bool started_ = false, may_ask_ = true;
  int quiet_ = 0;
  int64_t restarts_ = 0, ended_ns_ = 0;
};

ApiAnswer Follower::read(bool previous) {
  ApiRequest request;
  request.path = api_path("v1", "pods", options_.ns, options_.pod, "log") +
                 "?timestamps=true&container=" + percent_encode(options_.container, false) +
                 (previous ? "&previous=true" : "&follow=true");
  if (const std::string since = lines_.since(); !since.empty())
    request.path += "&sinceTime=" + percent_encode(since, false);
  request.total_ms = previous ? kPreviousMs : kRequestMs;
  request.on_chunk = [&](std::string_view piece) { return lines_.take(piece); };
  lines_.resume();
  return client_.send(request);
}

// A restart that came between two streams: the end of what the one before said is still to be had.
ContainerFate Follower::look() {
  if (!may_ask_) return ContainerFate::unknown;
  ApiRequest request{.path = api_path("v1", "pods", options_.ns, options_.pod), .total_ms = 10'000, .wait_ms = 0};
  const ApiAnswer answer = client_.send(request);
  if (answer.status == 403 || answer.status == 401) may_ask_ = false;
  if (answer.not_found()) return ContainerFate::over;
  const std::optional<Json> pod = answer.ok() ? parse_json(answer.body) : std::nullopt;
  if (!pod) return may_ask_ ? ContainerFate::runs : ContainerFate::unknown;
  int64_t restarts = restarts_;
  const ContainerFate fate = container_fate(*pod, options_.container, restarts);
  if (restarts > restarts_ && started_) read(true);
  restarts_ = restarts;
  return fate;
}

// The stream has ended. False: for good.
bool Follower::wait_for_more(bool new_lines) {
  quiet_ = new_lines ? 0 : quiet_ + 1;
  const int64_t now_ns = system_clock().monotonic_ns();
  if (new_lines || ended_ns_ == 0) ended_ns_ = now_ns;
  if (quiet_ == 0) return client_.sleep_ms(100);
  const ContainerFate fate = look();
  if (fate == ContainerFate::over && quiet_ >= 2) return false;
  if (fate == ContainerFate::unknown && quiet_ >= kQuietEnds) {
    const bool may_come_back = options_.restart != "Never" && now_ns - ended_ns_ < kRestartNs;
    if (!may_come_back) return false;
  }
  return client_.sleep_ms(1'000);
}

void Follower::run() {
  for (;;) {
    const uint64_t before = lines_.lines();
    const ApiAnswer answer = read(false);
    if (answer.status == 403) {
      return log::error(
          "the pod's service account may not read pods/log: grant it, or set command in the trial template");
    }
    if (answer.ok()) {
      started_ = true;
      if (!wait_for_more(lines_.lines() > before)) return;
      continue;
    }
    if (answer.not_found() && started_) return;
    log::warn("the log of container " + options_.container + " cannot be read yet: " + answer.text());
    client_.sleep_ms(lines_.lines() > before ? 100 : 1'000);
  }
}

// The trainer shares the folder: what it has put there may be a link out of it, or a FIFO on which an open would wait
// for ever.
Fd open_log(const std::string& path) {
  Fd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!out) return out;
  struct stat about {};
  if (::fstat(out.get(), &about) != 0) return Fd();
  if (!S_ISREG(about.st_mode)) return errno = EINVAL, Fd();
  if (::ftruncate(out.get(), 0) != 0) return Fd();
  return out;
}

}  // namespace

// A container that fails would fail the trainer's pod with it: whatever goes wrong is told, and the end is a good one.
int follow_log_command(std::span<const std::string> words) {
  FollowOptions options;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& name = words[i];
    std::string* to = name == "--kubeconfig"  ? &options.kubeconfig
                      : name == "--namespace" ? &options.ns
                      : name == "--pod"       ? &options.pod
                      : name == "--container" ? &options.container
                      : name == "--file"      ? &options.file
                      : name == "--restart"   ? &options.restart
                                              : nullptr;
    if (to == nullptr) return std::fprintf(stderr, "tacho-kube follow-log: no such option %s\n", name.c_str()), 2;
    *to = words[i + 1];
  }
  if (words.size() % 2 != 0 || options.ns.empty() || options.pod.empty() || options.container.empty() ||
      options.file.empty())
    return std::fprintf(stderr,
                        "usage: tacho-kube follow-log --namespace NS --pod POD --container NAME --file FILE "
                        "[--restart Never|OnFailure|Always]\n"),
           2;
  ignore_broken_pipes();
  const Fd out = open_log(options.file);
  if (!out) return log::error(system_error("cannot write the log", options.file, errno).message()), 0;
  const Result<std::shared_ptr<ApiServer>> server = ApiServer::open(options.kubeconfig);
  if (!server) return log::error(server.error().message()), 0;
  ApiClient client(*server, -1);
  LogLines lines([&](std::string_view text) { return static_cast<bool>(write_all(out.get(), text)); });
  Follower(client, options, lines).run();
  lines.finish();
  return 0;
}

}  // namespace tacho
