// Pass 2 over a metadata document: every call attempt by the rules of row.h, one at a time. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "cromwell/metadata_file.h"
#include "cromwell/row.h"
#include "cromwell/survey.h"

namespace tacho {

// What became of the calls.
struct Tally {
  uint64_t rows = 0, cached = 0, not_started = 0, running = 0, other_backend = 0, no_time = 0, bad = 0,
           sub_workflows = 0;
  uint64_t skipped() const { return cached + not_started + running + other_backend + no_time; }
  // "3 cached or bypassed, 1 never started"; empty when all calls have rows.
  std::string skipped_text() const;
};

struct RowsPass {
  RowOptions options;
  std::string root_id;  // for root_workflow_id
  std::string own_id;   // of the document's workflow, where it does not say
  bool with_inputs = true;
  bool quiet = false;                     // bad calls are counted, not printed
  std::function<void(int percent)> told;  // of the document, read so far; may be empty
  // May move out of the row; false ends the pass.
  std::function<bool(MetadataRow& row)> row;
  // A call that only names its sub-workflow.
  std::function<void(const std::string& id)> sub_workflow_id;
};
// Adds to `tally`. An Error when the document cannot be read; a bad call is logged and counted.
Status run_rows_pass(const MetadataFile& file, Survey& survey, const RowsPass& pass, Tally& tally);

}  // namespace tacho
