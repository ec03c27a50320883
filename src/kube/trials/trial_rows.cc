#include "kube/trials/trial_rows.h"

#include <algorithm>

#include "katib/model/time_stamp.h"

namespace tacho {
namespace {

constexpr int64_t kUsPerSec = 1'000'000;
constexpr int64_t kFirstWindowUs = 600 * kUsPerSec, kLeastWindowUs = kUsPerSec;
constexpr size_t kManyRows = 20'000, kFewRows = 2'000;

std::string wire(int64_t time_us) { return std::string(TimeStampText(time_us).wire()); }

class Folder {
 public:
  Folder(const GetRows& get, const std::string& metric) : get_(get), metric_(metric), fold_(metric) {}

  Status window(const std::string& start, const std::string& end) {
    rows_.clear();
    const RpcStatus status = get_(metric_, start, end, rows_);
    if (!status.ok()) {
      return Error{
          Code::io,
          "the observation log cannot be read: " + std::string(rpc_code_name(status.code)) + " " + status.message,
          metric_, "check the DB manager; it is tried again"};
    }
    for (const MetricRow& row : rows_) {
      if (const Status good = fold_.add(row); !good) return good;
    }
    return ok();
  }
  size_t count() const { return rows_.size(); }
  FinalMetricFold& fold() { return fold_; }

 private:
  const GetRows& get_;
  const std::string& metric_;
  FinalMetricFold fold_;
  std::vector<MetricRow> rows_;
};

// The limits of two windows are the same whole second: what lies on it comes twice and changes nothing.
Status fold_in_windows(Folder& folder, const RowWindows& windows) {
  int64_t at_us = windows.start_us - windows.start_us % kUsPerSec;
  if (const Status good = folder.window("", wire(at_us)); !good) return good;
  for (int64_t width_us = kFirstWindowUs; at_us < windows.end_us;) {
    const int64_t end_us = at_us + width_us;
    if (const Status good = folder.window(wire(at_us), wire(end_us)); !good) return good;
    at_us = end_us;
    if (folder.count() > kManyRows) width_us = std::max(kLeastWindowUs, width_us / 2 / kUsPerSec * kUsPerSec);
    else if (folder.count() < kFewRows) width_us *= 2;
  }
  return folder.window(wire(at_us), "");
}

}  // namespace

RowWindows windows_for(int64_t start_us, int64_t now_us, int64_t page_after_us) {
  return {now_us - start_us > page_after_us, start_us, now_us};
}

Result<FinalMetricFold> fold_rows(const GetRows& get, const std::string& metric, const RowWindows& windows) {
  Folder folder(get, metric);
  const Status read = windows.paged ? fold_in_windows(folder, windows) : folder.window("", "");
  if (!read) return read.error();
  FinalMetricFold& fold = folder.fold();
  if (fold.ties() > 1) {
    std::vector<MetricRow> values, steps;
    const std::string& time = fold.latest_time();
    if (get(metric + "@step", time, time, steps).ok() && !steps.empty() && get(metric, time, time, values).ok()) {
      if (std::optional<std::string> latest = latest_by_step(values, steps)) fold.set_latest(std::move(*latest));
    }
  }
  return std::move(fold);
}

}  // namespace tacho
