#include "kube/api/leader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/time_text.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr const char* kLeases = "coordination.k8s.io/v1";
constexpr int64_t kReleaseMs = 3'000;

int64_t integer_at(const Json& from, std::initializer_list<std::string_view> steps, int64_t otherwise) {
  const Json* value = find(from, steps);
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : otherwise;
}

std::optional<Json> read_lease(const ApiAnswer& answer, const std::string& name) {
  return answer.ok() ? read_object(answer.body, "Lease", name) : std::nullopt;
}

}  // namespace

void LeaseView::see(const Json& lease, int64_t now_ns) {
  const std::string holder = text_at(lease, {"spec", "holderIdentity"}),
                    renew_time = text_at(lease, {"spec", "renewTime"});
  if (!known_ || holder != holder_ || renew_time != renew_time_) changed_ns_ = now_ns;
  known_ = true;
  seen_ = dump_json(lease);
  holder_ = holder;
  renew_time_ = renew_time;
  acquire_time_ = text_at(lease, {"spec", "acquireTime"});
  resource_version_ = text_at(lease, {"metadata", "resourceVersion"});
  duration_s_ = std::clamp<int64_t>(integer_at(lease, {"spec", "leaseDurationSeconds"}, options_.duration_s), 1, 3600);
  transitions_ = integer_at(lease, {"spec", "leaseTransitions"}, 0);
}

void LeaseView::forget() { *this = LeaseView(options_); }

bool LeaseView::may_take(int64_t now_ns) const {
  return known_ && (holder_.empty() || held_by_us() || wait_ms(now_ns) == 0);
}

int64_t LeaseView::wait_ms(int64_t now_ns) const {
  return std::max<int64_t>(0, (changed_ns_ + duration_s_ * kNsPerSec - now_ns) / kNsPerMs);
}

Json LeaseView::lease(const std::string& now, bool release) const {
  const bool ours = held_by_us();
  std::optional<Json> seen = known_ ? parse_json(seen_) : std::nullopt;
  Json out = seen && seen->is_object() ? std::move(*seen) : Json::object();
  out.update(Json{{"apiVersion", kLeases}, {"kind", "Lease"}});
  Json metadata = {{"name", options_.name}, {"namespace", options_.ns}};
  if (!resource_version_.empty()) metadata["resourceVersion"] = resource_version_;
  Json spec = {{"holderIdentity", release ? std::string() : options_.identity},
               {"leaseDurationSeconds", release ? 1 : options_.duration_s},
               {"acquireTime", ours && !acquire_time_.empty() ? acquire_time_ : now},
               {"renewTime", now},
               {"leaseTransitions", known_ && !ours ? transitions_ + 1 : transitions_}};
  for (auto [key, part] : {std::pair{"metadata", &metadata}, std::pair{"spec", &spec}}) {
    if (!out[key].is_object()) out[key] = Json::object();
    out[key].update(*part);
  }
  return out;
}

Leader::Leader(std::shared_ptr<ApiServer> server, int stop_fd, LeaderOptions options, std::function<void()> on_start,
               std::function<void()> on_loss)
    : options_(options),
      client_(server, stop_fd),
      view_(std::move(options)),
      server_(std::move(server)),
      on_start_(std::move(on_start)),
      on_loss_(std::move(on_loss)) {}

void Leader::join() {
  if (thread_.joinable()) thread_.join();
}

void Leader::start() {
  thread_ = std::thread([this] { run(); });
}

bool Leader::leads() const {
  const int64_t renewed_ns = renewed_ns_;
  return renewed_ns != 0 && system_clock().monotonic_ns() - renewed_ns < options_.give_up_ms * kNsPerMs;
}

void Leader::run() {
  bool led = false;
  for (;;) {
    const int64_t begin_ns = system_clock().monotonic_ns();
    // A leader that could not renew in time has lost, even if the lease still bears its name.
    if (!led || leads()) round();
    if (client_.stopped()) break;
    const bool leads_now = leads();
    if (leads_now && !led) on_start_();
    if (led && !leads_now) {
      renewed_ns_ = 0;
      log::error("the lease " + options_.name + " was lost to " +
                 (view_.held_by_us() ? "time: the API server did not answer" : view_.holder()) + "; this replica ends");
      on_loss_();
      return;
    }
    led = leads_now;
    // Leading: every renew_ms. Waiting: the same, but not later than the moment when the lease runs out.
    const int64_t now_ns = system_clock().monotonic_ns();
    int64_t pause_ms = options_.renew_ms - (now_ns - begin_ns) / kNsPerMs;
    if (!led && view_.wait_ms(now_ns) > 0) pause_ms = std::min(pause_ms, view_.wait_ms(now_ns) + 1);
    if (!client_.sleep_ms(std::max<int64_t>(pause_ms, 50))) break;
  }
  release();
}

void Leader::round() {
  const std::string path = api_path(kLeases, "leases", options_.ns, options_.name);
  ApiRequest request;
  request.urgent = true;
  request.total_ms = options_.renew_ms;  // a second try fits before the lease is given up
  request.wait_ms = 0;
  const auto fail = [&](const char* what, const ApiAnswer& answer) {
    if (!answer.stopped)
      log::warn(std::string(what) + " the lease " + options_.ns + "/" + options_.name + ": " +
                (answer.ok() ? kAnotherObject : answer.text()));
  };
  if (renewed_ns_ == 0) {  // the holder writes what it knows; others look first
    request.path = path;
    const ApiAnswer seen = client_.send(request);
    if (seen.not_found()) {
      view_.forget();
    } else {
      const std::optional<Json> lease = read_lease(seen, options_.name);
      if (!lease) return fail("cannot read", seen);
      view_.see(*lease, system_clock().monotonic_ns());
      if (!view_.may_take(system_clock().monotonic_ns())) return;
    }
  }
  const int64_t asked_ns = system_clock().monotonic_ns();
  request.method = view_.known() ? "PUT" : "POST";
  request.path = view_.known() ? path : api_path(kLeases, "leases", options_.ns);
  request.body = dump_json(view_.lease(format_microseconds(system_clock().realtime_ns()), false));
  tried_ = true;
  const ApiAnswer answer = client_.send(request);
  const std::optional<Json> lease = read_lease(answer, options_.name);
  if (lease) {
    view_.see(*lease, system_clock().monotonic_ns());
    renewed_ns_ = asked_ns;  // before the answer: the server may have counted from then
    return;
  }
  if (view_.known() && answer.not_found()) view_.forget();  // somebody has removed it: made again in the next round
  if (!answer.conflict()) return fail("cannot write", answer);
  // Somebody else was first, or an earlier write of ours came through without its answer.
  request.method = "GET";
  request.path = path;
  request.body.clear();
  const ApiAnswer now = client_.send(request);
  if (const std::optional<Json> current = read_lease(now, options_.name)) {
    view_.see(*current, system_clock().monotonic_ns());
    if (!view_.held_by_us()) renewed_ns_ = 0;
  }
}

// The last renewal may have come through without its answer, so that what we know is behind; and a lease that we were
// just taking may be ours without our knowing. The server is asked; nobody else's lease is touched.
void Leader::release() {
  if (!tried_) return;
  renewed_ns_ = 0;
  ApiClient client(server_, -1);  // the stop signal has been raised
  const int64_t until_ns = system_clock().monotonic_ns() + kReleaseMs * kNsPerMs;
  std::string why = "there was no time";
  for (bool known = view_.held_by_us();; known = false) {
    const int64_t left_ms = (until_ns - system_clock().monotonic_ns()) / kNsPerMs;
    if (left_ms <= 0) break;
    ApiRequest request{.path = api_path(kLeases, "leases", options_.ns, options_.name)};
    request.urgent = true;
    request.total_ms = std::min<int64_t>(left_ms, kReleaseMs / 2);
    request.wait_ms = 0;
    if (!known) {
      const ApiAnswer seen = client.send(request);
      if (seen.not_found()) return;
      const std::optional<Json> lease = read_lease(seen, options_.name);
      if (lease) {
        view_.see(*lease, system_clock().monotonic_ns());
        if (!view_.held_by_us()) return;
      } else {
        why = seen.text();
        client.sleep_ms(100);
        continue;
      }
    }
    request.method = "PUT";
    request.body = dump_json(view_.lease(format_microseconds(system_clock().realtime_ns()), true));
    const ApiAnswer answer = client.send(request);
    if (answer.ok() || answer.not_found()) return;
    why = answer.text();
    if (!answer.conflict()) client.sleep_ms(100);
  }
  log::warn("the lease was not given away: " + why);
}

}  // namespace tacho
