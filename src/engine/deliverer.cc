#include "engine/deliverer.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "codec/run_words.h"
#include "os/environment.h"
#include "os/file.h"
#include "sink/spool_sink.h"
#include "spool/contract.h"
#include "spool/finish_timeout.h"
#include "spool/reader.h"

namespace tacho {
namespace {

constexpr int64_t kFinishBudget_ns = 30 * kNsPerSec, kHurriedBudget_ns = 8 * kNsPerSec;
constexpr size_t kTokenLimit = 16384;
constexpr int kChancesAtEnd = 3;  // for a deliverer that somebody kills

int64_t finish_budget_ns() {
  if (const auto named_ns = finish_timeout_ns()) return *named_ns;
  if (const std::string text = environment(kFinishTimeoutVariable); !text.empty())
    log::warn("TACHO_FINISH_TIMEOUT is no number of seconds: " + valid_utf8(text) + "; 30 are used");
  return kFinishBudget_ns;
}

// The folder of a run that was delivered goes, unless somebody put something of his own into it.
bool has_rows_left(const std::string& folder) { return file_exists(folder) && SpoolRun(folder).has_files(); }

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return "ended with status " + std::to_string(WEXITSTATUS(status));
  const std::string_view name = signal_word(WTERMSIG(status));
  return "was killed by " + (name.empty() ? "signal " + std::to_string(WTERMSIG(status)) : std::string(name));
}

}  // namespace

Token::Token() {
  for (const char* name : kTokenVariables) {
    const std::string_view text = trim(environment_in_place(name));
    if (text.size() > kTokenLimit)
      log::error(std::string("the token in ") + name + " is too long to be one and is not used; set it right");
    if (size_ > 0 || text.empty() || text.size() > kTokenLimit) continue;
    void* page = ::mmap(nullptr, kTokenLimit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) continue;
    ::madvise(page, kTokenLimit, MADV_DONTDUMP);
    data_ = static_cast<char*>(page);
    size_ = text.size();
    std::memcpy(data_, text.data(), size_);
  }
  for (const char* name : kTokenVariables) wipe_environment(name);
}

Token::~Token() {
  if (data_ == nullptr) return;
  ::explicit_bzero(data_, kTokenLimit);
  ::munmap(data_, kTokenLimit);
}

bool Token::is_valid() const {
  return std::all_of(data_, data_ + size_, [](char c) { return c > ' ' && c < 0x7f; });
}

MetricSettings::~MetricSettings() { ::explicit_bzero(lines_.data(), lines_.size()); }

void MetricSettings::read(const std::vector<SpoolSink*>& sinks) {
  const auto is_of = [&](std::string_view kind) {
    return std::any_of(sinks.begin(), sinks.end(), [&](const SpoolSink* sink) { return sink->target().kind == kind; });
  };
  lines_.reserve(kTokenLimit);
  for (const char* name : kMetricSecrets) {
    const std::string_view value = trim(environment_in_place(name));
    const bool fits = value.size() < kTokenLimit && std::all_of(value.begin(), value.end(), [](char c) {
                        return static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
                      });
    if (!fits) log::error(std::string(name) + " holds what no header has, and is not used; set it right");
    if (fits && !value.empty() && is_of(kPrometheusKind))
      lines_.append(1, control::kSecret).append(name).append("=").append(value).append("\n");
    wipe_environment(name);
  }
  for (const SpoolSink* sink : sinks)
    if (sink->target().kind == kPrometheusKind || sink->target().kind == kOtlpKind)
      lines_.append(1, control::kPlace).append(sink->target().api_url).append("\n");
}

void Deliverer::relay() {
  process_.relay([this](std::string_view line) {
    const bool known = line == kRefusedMessage;
    refused_ = refused_ || known;
    return known;
  });
}

std::unique_ptr<Sink> Deliverer::open_service(const Settings& settings, const SinkOptions& options) {
  if (token_.empty()) return nullptr;
  SpoolTarget target;
  target.api_url = service_url();
  target.data_source = settings.data_source;
  auto sink = open_spool_sink(std::move(target), options, "the service");
  if (sink) return std::move(*sink);
  log::error("nothing of this run will be sent: " + sink.error().message());
  return nullptr;
}

pid_t Deliverer::start(const std::string& store_folder, int64_t now_ns, bool later) {
  later_ = later;
  for (SpoolSink* sink : sinks_) {
    sink->set_store_folder(store_folder);
    if (const Status status = sink->describe(); !status) log::warn(status.error());
  }
  if (!token_.is_valid()) keep_back_service();
  for (const SpoolSink* sink : sinks_) folders_.push_back(sink->folder());
  if (sinks_.empty() || later_) return 0;
  if (const Status status = launch(now_ns); !status) {
    Error error = status.error();
    error.what = "nothing is sent for now: " + error.what;
    error.hint += "; the rows stay in " + folders_[0] + ", send them with tacho deliver";
    log::error(error.message());
    reported_ = true;
    return 0;
  }
  started_ = true;
  for (SpoolSink* sink : sinks_) sink->on_change = [this] { process_.poke(control::kNewsLine); };
  return process_.pid();
}

// The other destinations need no token.
void Deliverer::keep_back_service() {
  std::erase_if(sinks_, [this](const SpoolSink* sink) {
    if (sink->target().kind != kServiceKind) return false;
    kept_back_ = sink->folder();
    return true;
  });
  if (kept_back_.empty()) return;
  log::error(
      "the token in SENTINEL_API_TOKEN holds what no token has (a blank, a line break or a letter beyond ASCII), "
      "so the service gets nothing; the rows stay in " +
      kept_back_ + " (set it right and run tacho deliver)");
}

Status Deliverer::launch(int64_t now_ns) {
  DelivererProcess::Start start;
  start.folders = folders_;
  for (const SpoolSink* sink : sinks_) start.locks.push_back(sink->lock_fd());
  start.remove_environment = secret_variables();
  if (token_.is_valid()) start.token = token_.view();
  start.settings = metric_settings_.lines();
  restarts_.started(now_ns);
  return process_.start(start);
}

bool Deliverer::ended(const Exit& exit, int64_t now_ns) {
  if (process_.pid() <= 0 || exit.pid != process_.pid()) return false;
  end_status_ = exit.status;
  ++ends_;
  began_ = process_.ended();
  restarts_.ended(now_ns, began_);
  if (restarts_.given_up()) give_up("it " + how_it_ended(exit.status) + " before it began, again and again");
  return true;
}

pid_t Deliverer::restart(int64_t now_ns) {
  if (const Status status = launch(now_ns); !status) {
    restarts_.ended(now_ns, false);
    if (restarts_.given_up()) give_up(status.error().message());
    return 0;
  }
  ++restarted_;
  if (began_ && !std::exchange(told_restart_, true))
    log::warn("tacho-deliver " + how_it_ended(end_status_) +
              " in the middle of the run; it is started again and goes on where it was");
  return process_.pid();
}

void Deliverer::give_up(const std::string& why) {
  if (std::exchange(told_given_up_, true)) return;
  log::error("tacho-deliver cannot be kept running: " + why +
             "; nothing is sent while the job runs, and the rows stay in " + folders_[0] +
             " (see what tacho deliver --help says, mend that, and run tacho deliver)");
}

std::string Deliverer::note() const {
  if (ends_ == 0) return {};
  const auto times = [](int count) { return count == 1 ? std::string("once") : std::to_string(count) + " times"; };
  return "tacho-deliver " + how_it_ended(end_status_) + " in the middle of the run (" + times(ends_) +
         "; started again: " + times(restarted_) + "); batches may have come late, none is lost";
}

bool Deliverer::delivered() const { return std::none_of(folders_.begin(), folders_.end(), has_rows_left); }

bool Deliverer::finish(Clock& clock, Job& job, const std::string& run_id) {
  if (sinks_.empty() || later_) return kept_back_.empty();
  relay();
  const int64_t start_ns = clock.monotonic_ns();
  int64_t deadline_ns = start_ns + finish_budget_ns();
  const auto hurry = [&] { deadline_ns = std::min(deadline_ns, clock.monotonic_ns() + kHurriedBudget_ns); };
  if (job.end_requests() > 0) hurry();
  const auto tell_end = [&] {
    const int64_t budget_ms = std::max<int64_t>(0, deadline_ns - clock.monotonic_ns()) / kNsPerMs;
    process_.poke(control::end_line(budget_ms));
  };
  tell_end();
  bool died_before = started_ && process_.pid() <= 0;
  for (int chances = kChancesAtEnd; !job.in_a_hurry() && clock.monotonic_ns() < deadline_ns;) {
    if (process_.pid() <= 0) {
      // One that died beside the run gets another chance, and so does one that is killed now. What one left by itself
      // is left.
      const bool may_help = std::exchange(died_before, false) || WIFSIGNALED(end_status_);
      if (!may_help || chances-- == 0 || delivered() || !launch(clock.monotonic_ns())) break;
      tell_end();
    }
    std::array<pollfd, 2> fds{pollfd{process_.messages_fd(), POLLIN, 0}, pollfd{job.poll_set()[0].fd, POLLIN, 0}};
    clock.wait(fds, deadline_ns);
    if (fds[1].revents != 0) {
      const int requests = job.end_requests();
      job.poll_set()[0].revents = fds[1].revents;
      job.handle_events();
      if (job.end_requests() > requests) hurry();
    }
    relay();
  }
  process_.farewell();
  if (delivered()) return kept_back_.empty() && !refused_;
  tell_what_is_left(run_id);
  return false;
}

void Deliverer::tell_what_is_left(const std::string& run_id) const {
  if (reported_) return;
  for (const std::string& folder : folders_)
    if (has_rows_left(folder))
      log::error("run " + run_id + " is not delivered yet; it is kept in " + folder + " (send it with: tacho deliver " +
                 folder + ")");
}

}  // namespace tacho
