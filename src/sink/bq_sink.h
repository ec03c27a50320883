// -o bq://PROJECT.DATASET[.TABLE][?add_columns=1&create=never&location=EU]: one row a sample with all columns of the
// run, through the spool as records (spool/bq_record.h). The table is `samples` unless named, partitioned by day on
// `timestamp`; docs/bigquery.md describes it. Not thread-safe; a row allocates nothing.
//
// meta.json as spool/bq_record.h has it, with "form":"run", "tables":{"T":…} and, besides,
//   "columns":[{"name":"timestamp","type":"TIMESTAMP","mode":"REQUIRED"},…]   the schema of the table
//   "scope":["…"]       the parts of H, in the place of the task's
//   "constant":{…}      columns that are the same in every row
// insertId = "s-" + H + "-" + time_us: no instance is asked for.
#pragma once
#include <string>

#include "sink/spool_sink.h"

namespace tacho {

struct BqTarget {
  std::string project, dataset, table = "samples", location;
  bool add_columns = false, create = true;
};
// "bq://my-project.data.samples?create=never"; an Error says what is wrong with it.
Result<BqTarget> parse_bq_uri(const std::string& uri);

Result<std::unique_ptr<Sink>> open_bq_sink(const std::string& destination, const SinkOptions& options);

}  // namespace tacho
