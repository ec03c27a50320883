#include "kube/follow_log.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "kube/api_client.h"
#include "net/url.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr int64_t kRequestMs = 4 * 3'600'000;  // one stream; then it is asked for again
constexpr int kQuietEnds = 3;  // so many streams in a row that end without a new line: the container has ended

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
  if (!time.empty()) {
    if (time < last_) return true;
    if (time == last_ && skipped_ < same_) return ++skipped_, true;
    same_ = time == last_ ? same_ + 1 : 1;
    skipped_ = same_;
    last_ = time;
  }
  lines_++;
  return write_(text);
}

bool LogLines::take(std::string_view piece) {
  rest_ += piece;
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    if (!put(std::string_view(rest_).substr(begin, end - begin), true)) return false;
    begin = end + 1;
  }
  rest_.erase(0, begin);
  return true;
}

bool LogLines::finish() {
  if (rest_.empty()) return true;
  const std::string line = std::move(rest_);
  rest_.clear();
  return put(line, false);
}

std::string LogLines::since() const { return last_.empty() ? "" : last_.substr(0, 19) + "Z"; }

// A container that fails would fail the trainer's pod with it: whatever goes wrong is told, and the end is a good one.
int follow_log_command(std::span<const std::string> words) {
  std::string kubeconfig, ns, pod, container, file;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& name = words[i];
    std::string* to = name == "--kubeconfig"  ? &kubeconfig
                      : name == "--namespace" ? &ns
                      : name == "--pod"       ? &pod
                      : name == "--container" ? &container
                      : name == "--file"      ? &file
                                              : nullptr;
    if (to == nullptr) return std::fprintf(stderr, "tacho-kube follow-log: no such option %s\n", name.c_str()), 2;
    *to = words[i + 1];
  }
  if (words.size() % 2 != 0 || ns.empty() || pod.empty() || container.empty() || file.empty())
    return std::fprintf(stderr, "usage: tacho-kube follow-log --namespace NS --pod POD --container NAME --file FILE\n"),
           2;
  ignore_broken_pipes();
  const Fd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!out) return log::error(system_error("cannot write the log", file, errno).message()), 0;
  const Result<std::shared_ptr<ApiServer>> server = ApiServer::open(kubeconfig);
  if (!server) return log::error(server.error().message()), 0;
  ApiClient client(*server, -1);
  LogLines lines([&](std::string_view text) { return static_cast<bool>(write_all(out.get(), text)); });
  int quiet = 0;
  bool started = false;
  while (quiet < kQuietEnds) {
    const uint64_t before = lines.lines();
    ApiRequest request;
    request.path = api_path("v1", "pods", ns, pod, "log") +
                   "?follow=true&timestamps=true&container=" + percent_encode(container, false);
    if (const std::string since = lines.since(); !since.empty())
      request.path += "&sinceTime=" + percent_encode(since, false);
    request.total_ms = kRequestMs;
    request.on_chunk = [&](std::string_view piece) { return lines.take(piece); };
    const ApiAnswer answer = client.send(request);
    if (answer.status == 403)
      return log::error(
                 "the pod's service account may not read pods/log: grant it, or set command in the trial template"),
             0;
    if (answer.ok()) {
      started = true;
      quiet = lines.lines() > before ? 0 : quiet + 1;
      if (quiet < kQuietEnds) lines.resume();
    } else if (answer.not_found() && started) {
      break;
    } else {
      log::warn("the log of container " + container + " cannot be read yet: " + answer.text());
    }
    client.sleep_ms(lines.lines() > before ? 100 : 1'000);
  }
  lines.finish();
  return 0;
}

}  // namespace tacho
