#include "cloud/prober.h"

#include <algorithm>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kConnectMs = 1'000, kAnswerMs = 1'000;
constexpr int64_t kProviderNs = 2 * kNsPerSec;  // all start at once, so that nobody waits for the 3 s of everything
constexpr size_t kBodyLimit = 64 * 1024;
constexpr uint64_t kQuestionsPerProvider = 1'000;

// Another time it may answer more.
bool is_passing(const HttpReply& reply) {
  return reply.failure != HttpFailure::none || reply.response.status == 429 || reply.response.status >= 500;
}

uint64_t id_of(size_t index, size_t question) { return index * kQuestionsPerProvider + question; }

}  // namespace

Prober::Prober(std::vector<Candidate> candidates, int64_t now_ns) : start_ns_(now_ns) {
  for (Candidate& candidate : candidates) {
    probes_.push_back(std::make_unique<Probe>());
    probes_.back()->candidate = std::move(candidate);
    begin(probes_.size() - 1);
  }
}

void Prober::begin(size_t index) {
  Probe& probe = *probes_[index];
  probe.found = {};
  probe.step = probe.candidate.vendor->first(probe.candidate.context, probe.found);
  send(index);
}

void Prober::send(size_t index) {
  Probe& probe = *probes_[index];
  const size_t count = probe.step.questions.size();
  probe.done = count == 0;
  probe.replies.assign(count, {HttpFailure::timeout, {}});
  probe.repeated.assign(count, false);
  probe.open = count;
  for (size_t question = 0; question < count; ++question) ask(index, question);
}

void Prober::ask(size_t index, size_t question) {
  const Probe& probe = *probes_[index];
  const Question& asked = probe.step.questions[question];
  const Base& base = probe.candidate.bases[probe.base];
  HttpRequest request;
  request.method = asked.method;
  request.url = asked.path.starts_with('/') ? base.url + asked.path : asked.path;
  request.headers = asked.headers;
  if (!base.host.empty()) request.headers.emplace_back("Host", base.host);
  const int64_t left_ms = (start_ns_ + kProviderNs - system_clock().monotonic_ns()) / kNsPerMs;
  request.total_ms = std::max<int64_t>(left_ms, 1);
  request.connect_ms = std::min(kConnectMs, request.total_ms);
  request.response_ms = kAnswerMs;
  request.body_limit = kBodyLimit;
  http_.add(id_of(index, question), request);
}

void Prober::take(uint64_t id, HttpReply reply) {
  const size_t index = id / kQuestionsPerProvider, question = id % kQuestionsPerProvider;
  Probe& probe = *probes_[index];
  if (reply.failure == HttpFailure::reset && !probe.repeated[question]) {
    probe.repeated[question] = true;
    ask(index, question);
    return;
  }
  probe.replies[question] = std::move(reply);
  if (--probe.open == 0) advance(index);
}

void Prober::advance(size_t index) {
  Probe& probe = *probes_[index];
  const auto is_unreachable = [](const HttpReply& reply) { return reply.failure == HttpFailure::unreachable; };
  if (probe.first_round && std::all_of(probe.replies.begin(), probe.replies.end(), is_unreachable) &&
      probe.base + 1 < probe.candidate.bases.size()) {
    ++probe.base;
    begin(index);
    return;
  }
  probe.first_round = false;
  if (std::any_of(probe.replies.begin(), probe.replies.end(), is_passing)) probe.complete = false;
  // The step stays alive while it runs: it is replaced by what it returns.
  const CloudStep step = std::move(probe.step);
  probe.step = step.then(probe.replies);
  send(index);
}

// Its time is over: what has arrived is used, what has not counts as missing.
void Prober::cut_off(size_t index) {
  Probe& probe = *probes_[index];
  for (size_t question = 0; question < probe.step.questions.size(); ++question) http_.cancel(id_of(index, question));
  probe.complete = false;
  if (probe.step.then) probe.step.then(probe.replies);
  probe.done = true;
}

// Known once everybody before the first that is identified has said no.
bool Prober::decide() {
  for (const auto& probe : probes_) {
    if (!probe->done) return false;
    if (!probe->found.identified) continue;
    winner_ = probe.get();
    return true;
  }
  return true;
}

bool Prober::work(int64_t until_ns) {
  const int64_t end_ns = start_ns_ + kProviderNs;
  while (!decide()) {
    uint64_t id = 0;
    HttpReply reply;
    if (http_.next(std::min(until_ns, end_ns), id, reply)) {
      take(id, std::move(reply));
    } else if (system_clock().monotonic_ns() >= end_ns) {
      for (size_t index = 0; index < probes_.size(); ++index)
        if (!probes_[index]->done) cut_off(index);
    } else {
      return false;
    }
  }
  return true;
}

Cloud Prober::winner() const {
  if (winner_ == nullptr) return {};
  Cloud cloud = winner_->found.values;
  cloud.vendor_id = std::string(winner_->candidate.vendor->id);
  return cloud;
}

bool Prober::is_complete() const { return winner_ != nullptr && winner_->complete; }

}  // namespace tacho
