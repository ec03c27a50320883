#include "katib/read/scraper.h"

#include "base/log.h"
#include "os/clock.h"

namespace tacho {

Scraper::Scraper(HttpTarget target, PrometheusSource source, int64_t timeout_ns)
    : shared_(std::make_shared<Shared>(std::move(target), std::move(source))), timeout_ns_(timeout_ns) {}

void Scraper::scrape(Shared& shared, int64_t deadline_ns) {
  shared.rows.clear();
  shared.fault.clear();
  shared.refused = false;
  const int64_t begun_ns = system_clock().realtime_ns();
  bool begun = false;
  const auto head = [&](const HttpAnswer& answer) {
    if (answer.status != 200) return false;
    shared.source.begin(begun_ns, answer.content_type);
    return begun = true;
  };
  const auto answer = shared.client.get(deadline_ns, head, [&](std::string_view part) { shared.source.feed(part); });
  if (answer && answer->status == 200) {
    const Status status = shared.source.end([&](const RowView& row) { shared.rows.push_back(row); });
    if (!status) shared.fault = status.error().message();
    return;
  }
  if (begun) shared.source.abandon();
  shared.refused = !answer && answer.error().code == Code::gone;
  shared.fault = answer ? "the answer has status " + std::to_string(answer->status) : answer.error().message();
}

void Scraper::start(int64_t now_ns) {
  worker_.start([shared = shared_, deadline_ns = now_ns + timeout_ns_] { scrape(*shared, deadline_ns); });
}

bool Scraper::take(const Reader::Take& take) {
  if (!worker_.finished()) return false;
  for (const MetricRow& row : shared_->rows) take(row);
  shared_->rows.clear();
  const bool good = shared_->fault.empty();
  if (good && failing_) log::info("the trainer's endpoint answers again");
  if (!good && !failing_ && !(shared_->refused && !any_success_)) {
    log::error("a scrape of the trainer's endpoint failed: " + shared_->fault + "; it is tried again");
    failing_ = true;
  }
  if (good) failing_ = false, any_success_ = true;
  return true;
}

void Scraper::finish(const Reader::Take& take) { shared_->source.finish(take); }
std::string Scraper::state() const { return shared_->source.state(); }
Status Scraper::restore(std::string_view json) { return shared_->source.restore(json); }

}  // namespace tacho
