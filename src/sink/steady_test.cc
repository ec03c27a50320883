// A steady row allocates nothing, whatever the output.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sink/sink.h"
#include "sink/store.h"
#include "support/count_allocations.h"
#include "support/sample_detail.h"
#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

int64_t allocations_of(Sink& sink, Summary& summary) {
  Row row = sample_row(0);
  Detail detail = sample_detail(0);
  const Detail* shown = sink.wants_detail() ? &detail : nullptr;
  const auto tick = [&](int64_t i) {
    row.index = i;
    row.realtime_ns += row.interval_ns;
    row.cells[4] = static_cast<double>(i) * 1234.5678;
    detail.stamp_ns += row.interval_ns;
    detail.network[0].rx_bytes += 123456789;
    summary.add(row);
    EXPECT_TRUE(sink.write(row, shown));
  };
  for (int64_t i = 0; i < 50; ++i) tick(i);
  const int64_t before = allocations;
  for (int64_t i = 50; i < 5000; ++i) tick(i);
  return allocations - before;
}

class Steady : public testing::TestWithParam<const char*> {};

TEST_P(Steady, ARowAllocatesNothing) {
#ifdef TACHO_SANITIZED
  GTEST_SKIP() << "a sanitizer has its own allocator";
#endif
  const TempDir dir;
  auto run = sample_run();
  run.metadata.job_name =
      "J\xc3\xb6"
      "b with a name that is longer than a short string";
  Summary summary;
  summary.begin(sample_schema());
  const std::string name = GetParam();
  ::setenv("TACHO_SPOOL_DIR", dir.path().c_str(), 1);
  SinkOptions options;
  options.upload_interval_ns = INT64_MAX;  // a seal may allocate
  auto sink = name == "store"             ? open_store(dir.path(), run, summary)
              : name.starts_with("s3://") ? open_sink(name, options)
                                          : open_sink(dir / name, {});
  ::unsetenv("TACHO_SPOOL_DIR");
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->begin(run, sample_schema()));
  EXPECT_EQ(allocations_of(**sink, summary), 0);
  EXPECT_TRUE((*sink)->end(run));
}

INSTANTIATE_TEST_SUITE_P(Sinks, Steady,
                         testing::Values("store", "a.csv", "a.csv.gz", "a.jsonl", "a.html", "s3://bucket/prefix"));

}  // namespace
}  // namespace tacho
