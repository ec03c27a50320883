#include "sink/bq_sink.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "spool/bq_record.h"
#include "spool/reader.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(BqSink, Destinations) {
  const auto plain = parse_bq_uri("bq://my-project.data");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->project + "/" + plain->dataset + "/" + plain->table, "my-project/data/samples");
  const auto full = parse_bq_uri("bq://example.com:p.d.my-table?add_columns=1&create=never&location=us-central1");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->project + "/" + full->dataset + "/" + full->table, "example.com:p/d/my-table");
  EXPECT_TRUE(full->add_columns);
  EXPECT_FALSE(full->create);
  EXPECT_EQ(full->location, "us-central1");
  for (const char* wrong : {"bq://", "bq://p", "bq://p.", "bq://.d", "bq://p.d.", "bq://p.d-x", "bq://p.d.t.u",
                            "bq://p.d?x=1", "bq://p.d?create=maybe", "bq://p/d"}) {
    EXPECT_FALSE(parse_bq_uri(wrong)) << wrong;
  }
}

TEST(BqSink, RowsAreRecords) {
  const TempDir dir;
  ::setenv("TACHO_SPOOL_DIR", (dir / "spool").c_str(), 1);
  const SpoolSink* spooled = nullptr;
  SinkOptions options;
  options.spooled = [&](SpoolSink& opened) { spooled = &opened; };
  auto sink = open_bq_sink("bq://p.d", options);
  ::unsetenv("TACHO_SPOOL_DIR");
  ASSERT_TRUE(sink) << sink.error().message();
  tacho::Run run;
  run.id = "20261115-a1b2";
  run.metadata.job_name = "a \"job\"";
  Schema schema{
      kTimestampColumn, {2, "cores", "cores", 2, Rule::level, 0, 1, ""}, {3, "pid", "count", 0, Rule::level, 0, 1, ""}};
  ASSERT_TRUE((*sink)->begin(run, schema));
  Row row;
  row.realtime_ns = 1'794'735'000'250'001'999;
  row.cells = {0, 1.5, kAbsent};
  ASSERT_TRUE((*sink)->write(row, nullptr));
  ASSERT_TRUE((*sink)->end(run));
  const std::string folder = spooled->folder();
  const SpoolRun spool(folder);
  const auto sealed = spool.sealed();
  ASSERT_EQ(sealed.size(), 1u);
  const auto text = spool.read(sealed[0]);
  ASSERT_TRUE(text);
  BqRecords records(*text);
  BqRecord record;
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(record.table, 'T');
  EXPECT_EQ(record.time_us, 1'794'735'000'250'001);
  EXPECT_EQ(record.row, R"({"timestamp":"2026-11-15T09:30:00.250001Z","seq":0,"cores":1.50})");
  const std::string meta = slurp(folder + "/meta.json");
  EXPECT_NE(meta.find(R"("job_name": "a \"job\"")"), std::string::npos) << meta;
  EXPECT_NE(meta.find("REQUIRED"), std::string::npos);
}

}  // namespace
}  // namespace tacho
