// One workflow's metadata into BigQuery: fetch, check (pass 1), skip rows that are there already, make rows and look up
// sizes batch by batch (pass 2), send, and do the same for sub-workflows that were only named. One uploader serves
// several threads; each upload has a client and a sender of its own.
#pragma once
#include <functional>
#include <string>

#include "cromwell/cromwell_client.h"
#include "cromwell/rows_pass.h"
#include "cromwell/sender.h"
#include "cromwell/sizes.h"

namespace tacho {

struct UploadSettings {
  RowOptions rows;
  CromwellSettings cromwell;
  SenderSettings sender;
  bool skip_existing = false;
  bool stream = false;  // rows of a document that breaks off are sent up to there
  bool with_sizes = true;
  bool hold_without_sizes =
      false;                // service: a batch whose sizes are not to be had now is not sent, the event comes back
  bool print_only = false;  // rows to stdout, nothing sent
  // What is being done, and now and then how far it is, by the thread that uploads: "fetching ID" and "12 MiB". Empty:
  // nobody looks on.
  std::function<void(const std::string& step, const std::string& how_far)> on_step;
};

struct UploadResult {
  Tally tally;
  SizeCounts sizes;
  SenderResult sent;
  uint64_t already_there = 0;  // rows that were not sent for that reason
  uint64_t never_there = 0;    // beside those: rows that no table takes by streaming, for their dates
  bool later = false;          // try again later
  bool not_over = false;       // … because the workflow still runs
  std::string why;             // not empty: not everything was uploaded
  bool good() const { return why.empty() && tally.bad == 0 && sizes.failed == 0 && sent.dropped == 0; }
  std::string text() const;  // one line for a person
};

class WorkflowUploader {
 public:
  WorkflowUploader(UploadSettings settings, SizeLookup& sizes) : settings_(std::move(settings)), sizes_(sizes) {}
  UploadResult upload_id(const std::string& id);
  UploadResult upload_file(const std::string& path);
  const UploadSettings& settings() const { return settings_; }

 private:
  UploadSettings settings_;
  SizeLookup& sizes_;
};

}  // namespace tacho
