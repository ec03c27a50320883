// bench_db ADDRESS TRIAL ROWS BATCH: sends ROWS rows in reports of BATCH to a DB manager, one after the other, and
// prints rows a second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "katib/model/time_stamp.h"
#include "katib/rpc/clients.h"

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: bench_db ADDRESS TRIAL ROWS BATCH\n"), 2;
  tacho::RpcOptions options;
  options.address = argv[1];
  options.timeout_ms = 300'000;
  tacho::DbClient client(options);
  const long rows = std::atol(argv[3]), batch = std::atol(argv[4]);
  if (rows <= 0 || batch <= 0) return 2;
  std::chrono::duration<double> calls{0};
  for (long sent = 0; sent < rows; sent += batch) {
    std::vector<tacho::MetricRow> report(static_cast<size_t>(std::min(batch, rows - sent)));
    for (size_t i = 0; i < report.size(); ++i) {
      const long number = sent + static_cast<long>(i);
      report[i].time_stamp = tacho::TimeStampText(1'700'000'000'000'000 + number * 1000).wire();
      report[i].name = number % 2 == 0 ? "loss" : "accuracy";
      report[i].value = std::to_string(static_cast<double>(number) / 7);
    }
    const tacho::RowBatch batch(report);
    const auto start = std::chrono::steady_clock::now();
    const tacho::RpcStatus status = client.report(argv[2], batch);
    calls += std::chrono::steady_clock::now() - start;
    if (!status.ok())
      return std::fprintf(stderr, "%s: %s\n", tacho::rpc_code_name(status.code), status.message.c_str()), 1;
  }
  std::printf("%.0f\n", static_cast<double>(rows) / calls.count());
  return 0;
}
