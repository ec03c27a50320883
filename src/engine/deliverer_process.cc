#include "engine/deliverer_process.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"
#include "base/units.h"
#include "os/file.h"
#include "os/process.h"
#include "os/sibling.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kEndPatience_ns = kNsPerSec;

}  // namespace

Status DelivererProcess::start(const Start& start) {
  auto pipe = make_control_pipe();
  if (!pipe) return pipe.error();
  HelperOptions options;
  options.program = sibling_path(kDelivererName);
  options.remove_environment = start.remove_environment;
  for (const std::string& folder : start.folders) {
    options.arguments.push_back(std::string(kSpoolRunFlag));
    options.arguments.push_back(folder);
  }
  options.descriptors.push_back(pipe->first.get());
  options.descriptors.insert(options.descriptors.end(), start.locks.begin(), start.locks.end());
  auto helper = start_helper(options);
  if (!helper) return helper.error();
  helper_ = std::move(*helper);
  control_ = std::move(pipe->second);
  pending_.clear();
  told_bytes_ = 0;
  std::string greeting;
  greeting.reserve(start.settings.size() + start.token.size() + 2);
  greeting.append(start.settings).append(1, control::kToken).append(start.token).append("\n");
  poke(greeting);
  ::explicit_bzero(greeting.data(), greeting.size());
  return ok();
}

void DelivererProcess::poke(std::string_view message) {
  if (!control_) return;
  if (const ssize_t written = ::write(control_.get(), message.data(), message.size()); written > 0)
    told_bytes_ += written;
}

void DelivererProcess::relay(const std::function<bool(std::string_view line)>& take) {
  if (!helper_.messages) return;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(helper_.messages.get(), buffer, sizeof buffer);
    if (got == 0) helper_.messages.reset();
    if (got <= 0) return;
    pending_.append(buffer, static_cast<size_t>(got));
    for (size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (line.empty() || (take && take(line))) continue;
      // TACHO_DEBUG_HTTP: every line, as it came; the same header twice is two facts.
      if (line.starts_with(kHttpTraceMark)) {
        static_cast<void>(write_all(STDERR_FILENO, line + "\n"));
        continue;
      }
      // "! text" must be said even when quiet.
      if (line.starts_with(kMustSayMark)) log::error(line.substr(kMustSayMark.size()));
      else log::warn(line);
    }
  }
}

void DelivererProcess::farewell() {
  poke(control::kQuitLine);
  control_.reset();
  if (helper_.pid <= 0) return;
  reap_soon(helper_.pid, kEndPatience_ns);
  relay();
}

bool DelivererProcess::ended() {
  relay();
  int unread = 0;
  const bool began = control_ && ::ioctl(control_.get(), FIONREAD, &unread) == 0 && unread < told_bytes_;
  helper_ = {};
  control_.reset();
  return began;
}

}  // namespace tacho
