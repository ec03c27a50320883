// The rows of a Trial's metrics, folded as they come from the DB manager. A long training is read in windows of time,
// so that a reply stays small whatever the number of rows. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "katib/rpc/clients.h"
#include "kube/trials/final_metrics.h"

namespace tacho {

// DbClient::get of one Trial: metric, start, end (both inclusive, empty is no limit).
using GetRows = std::function<RpcStatus(const std::string& metric, const std::string& start, const std::string& end,
                                        std::vector<MetricRow>& rows)>;

struct RowWindows {
  bool paged = false;                // false: all rows in one reply
  int64_t start_us = 0, end_us = 0;  // about when training began and ended; rows outside are found too
};
// When a Trial has run for longer than page_after_us.
RowWindows windows_for(int64_t start_us, int64_t now_us, int64_t page_after_us);

// One metric: all its rows, and its companion NAME@step where several share the greatest time.
Result<FinalMetricFold> fold_rows(const GetRows& get, const std::string& metric, const RowWindows& windows);

}  // namespace tacho
