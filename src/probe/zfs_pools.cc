#include "probe/zfs_pools.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "base/units.h"
#include "os/companion.h"
#include "os/environment.h"
#include "os/helper.h"
#include "probe/tree/process_tree.h"
#include "procfs/zpool.h"

namespace tacho {
namespace {

constexpr int64_t kPaceNs = 60 * kNsPerSec;
constexpr size_t kLongestAnswer = 1 << 16;
// A helper's only way to tell something is its stderr. zpool is not on everybody's PATH.
constexpr const char* kScript =
    "PATH=$PATH:/usr/sbin:/sbin; exec timeout -s KILL 0.25 zpool list -Hp -o name,size,allocated,free >&2 2>/dev/null";

}  // namespace

ZfsPools::~ZfsPools() {
  if (pid_ > 0) companion_ended(pid_);
}

void ZfsPools::look(int64_t now_ns) {
  if (pid_ > 0) take_answer();
  if (pid_ > 0 || now_ns < next_ns_) return;
  next_ns_ = now_ns + kPaceNs;
  ask();
}

void ZfsPools::ask() {
  HelperOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", kScript};
  options.remove_environment = secret_variables();
  auto helper = start_helper(options);
  if (!helper) return log::debug(helper.error().message());
  pid_ = helper->pid;
  answer_ = std::move(helper->messages);
  text_.clear();
  if (context_.tree != nullptr) context_.tree->exclude(pid_);
}

void ZfsPools::take_answer() {
  std::array<char, 4096> part;
  ssize_t got = 0;
  while (answer_ && (got = ::read(answer_.get(), part.data(), part.size())) > 0)
    if (text_.size() < kLongestAnswer) text_.append(part.data(), static_cast<size_t>(got));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;  // it has not ended yet
  if (answer_) {
    answer_.reset();
    PoolLines lines(
        text_);  // of a pool that is not in the answer the last one stands: a pool does not change its size by itself
    for (PoolLine line; lines.next(line);) size_bytes_.insert_or_assign(std::string(line.name), line.size_bytes);
  }
  if (!companion_ended(pid_)) return;
  if (context_.tree != nullptr) context_.tree->include_again(pid_);
  pid_ = 0;
}

std::optional<int64_t> ZfsPools::size_bytes(const std::string& pool) const {
  const auto found = size_bytes_.find(pool);
  return found == size_bytes_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tacho
