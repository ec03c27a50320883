// The tables of the task monitor and of the metadata, which are made, patched and documented together.
#include <gtest/gtest.h>

#include "cromwell/bq_columns.h"
#include "cromwell/metadata_table.h"
#include "monitor/tables/rows.h"
#include "net/google/bigquery_schema.h"

namespace tacho {
namespace {

TEST(BigQueryTables, TheOriginalsColumnsComeFirst) {
  for (const auto& [data, of_the_original] : {std::pair{&kBqRuntime, 15}, {&kBqMetrics, 7}, {&kBqMetadata, 19}}) {
    int original = 0;
    bool added = false;
    for (const BqColumn& column : data->columns) {
      EXPECT_TRUE(!added || column.added) << column.name << " of the original behind an added column";
      added = column.added;
      original += column.added ? 0 : 1;
      EXPECT_TRUE(!column.added || column.mode != BqMode::required) << column.name;
    }
    EXPECT_EQ(original, of_the_original) << data->name;
    const auto fields = parse_bq_fields(bq_fields_json(bq_table_spec(*data).fields));
    ASSERT_TRUE(fields);
    EXPECT_EQ(fields->size(), data->columns.size());
  }
}

TEST(BigQueryTables, EveryColumnIsInTheDocumentWithItsMeaning) {
  const std::string document = bq_columns_document();
  for (const BqTableData* data : {&kBqRuntime, &kBqMetrics, &kBqMetadata}) {
    EXPECT_NE(document.find("\n## `" + std::string(data->name) + "`\n"), std::string::npos);
    for (const BqColumn& column : data->columns) {
      EXPECT_FALSE(column.text.empty()) << column.name;
      EXPECT_EQ(column.text.find('|'), std::string_view::npos) << column.name;
      EXPECT_NE(document.find("| `" + std::string(column.name) + "` | "), std::string::npos) << column.name;
    }
  }
  EXPECT_NE(document.find("| `inputs.size_bytes` | INTEGER |"), std::string::npos);
}

}  // namespace
}  // namespace tacho
