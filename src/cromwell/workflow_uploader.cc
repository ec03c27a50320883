#include "cromwell/workflow_uploader.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <unordered_set>

#include "base/log.h"
#include "base/units.h"
#include "cromwell/existing.h"
#include "cromwell/row_json.h"
#include "cromwell/written_rows.h"
#include "net/google/bigquery_schema.h"

namespace tacho {
namespace {

constexpr size_t kMostSubWorkflows = 200'000;
// BigQuery would take 9 MiB; a batch is held in several forms while another one is made, and memory is bounded.
constexpr size_t kBatchBytes = size_t{3} << 20;

// One upload: batches, sizes, the sender that is made for the first of them.
class Upload {
 public:
  Upload(const UploadSettings& settings, SizeLookup& sizes, UploadResult& result)
      : settings_(settings), sizes_(sizes), result_(result) {}

  // The sub-workflows that it only names are appended to sub_ids.
  void document(const MetadataFile& file, const std::string& id, std::string& root_id,
                std::deque<std::string>& sub_ids);
  void finish();

 private:
  // By row_key, sorted: rows that are in the table, and those that are too old for it and stand in the file for a load
  // job.
  struct Done {
    std::vector<uint64_t> there, written;
    bool all = false;  // and there is no other row
  };
  // Nothing: it cannot be told now.
  std::optional<Done> done_before(const MetadataFile& file, Survey& known, const RowsPass& as);
  bool add_unless_done(MetadataRow& row, const Done& done);
  bool add(MetadataRow& row);
  bool send();
  void find_sizes();
  void tell(const std::string& step, const std::string& how_far = "") const {
    if (settings_.on_step) settings_.on_step(step, how_far);
  }
  // For a pass over the document.
  std::function<void(int percent)> teller(const std::string& step) const {
    if (!settings_.on_step) return {};
    return [this, step](int percent) { tell(step, std::to_string(percent) + " %"); };
  }
  void fail(std::string why, bool later) {
    if (result_.why.empty()) result_.why = std::move(why);
    result_.later |= later;
  }

  const UploadSettings& settings_;
  SizeLookup& sizes_;
  UploadResult& result_;
  std::vector<MetadataRow> batch_;
  size_t batch_bytes_ = 0;
  size_t made_ = 0;    // rows of all batches until now
  bool held_ = false;  // this batch is not to be sent
  std::unique_ptr<Sender> sender_;
};

void Upload::document(const MetadataFile& file, const std::string& id, std::string& root_id,
                      std::deque<std::string>& sub_ids) {
  tell("reading");
  auto known = survey(file, teller("reading"));
  if (!known) return fail(known.error().message(), true);
  if (known->broken) {
    fail(known->broken->message(), true);
    if (!settings_.stream) return;
  }
  const std::string& own_id = known->root.id.empty() ? id : known->root.id;
  if (own_id.empty())
    return fail("this is no workflow metadata: it has no id (save GET /api/workflows/v1/ID/metadata)", false);
  if (root_id.empty()) root_id = own_id;
  if (!known->root.status.empty() && !is_terminal_workflow(known->root.status) && !settings_.rows.allow_running) {
    result_.not_over = true;
    return fail("workflow " + own_id + " is not over yet: " + known->root.status +
                    " (--wait waits for it, --allow-running takes it as it is)",
                true);
  }
  RowsPass pass;
  pass.options = settings_.rows;
  pass.root_id = root_id;
  if (known->root.id.empty()) pass.own_id = own_id;
  pass.row = [this](MetadataRow& row) { return add(row); };
  pass.sub_workflow_id = [&](const std::string& sub_id) {
    if (!may_be_workflow_id(sub_id))
      fail("a call names a sub-workflow whose id makes no sense: " + sub_id.substr(0, 100), false);
    else if (sub_ids.size() < kMostSubWorkflows) sub_ids.push_back(sub_id);
    else
      fail("more than " + std::to_string(kMostSubWorkflows) +
               " sub-workflows are only named (save the metadata with expandSubWorkflows=true)",
           false);
  };
  const uint64_t done_rows = result_.already_there + result_.never_there;
  if (settings_.skip_existing && !known->broken) {
    const auto done = done_before(file, *known, pass);
    if (!done) return fail("BigQuery does not say what is there already", true);
    if (done->all) return;
    pass.row = [this, done](MetadataRow& row) { return add_unless_done(row, *done); };
  }
  if (settings_.on_step)
    pass.told = [this](int percent) {
      tell("sending", std::to_string(made_) + " rows, " + std::to_string(percent) + " % of the document");
    };
  const Status status = run_rows_pass(file, *known, pass, result_.tally);
  result_.tally.rows -= result_.already_there + result_.never_there - done_rows;
  if (!status && !known->broken) fail(status.error().message(), true);
}

// Goes over the document once more, without inputs. Sub-workflows that it only names are looked at on their own.
std::optional<Upload::Done> Upload::done_before(const MetadataFile& file, Survey& known, const RowsPass& as) {
  const int64_t now_ns = system_clock().realtime_ns();
  Expected expected, old;
  uint64_t rows = 0, old_rows = 0;
  Tally tally;
  RowsPass pass = as;
  pass.with_inputs = false;
  pass.quiet = true;
  pass.told = teller("looking for what is there already");
  std::vector<std::string> sub_ids;
  pass.row = [&](MetadataRow& row) {
    const bool streams = in_partition_bounds(row.start_ns, now_ns);
    (streams ? expected : old).add(row);
    ++(streams ? rows : old_rows);
    return true;
  };
  pass.sub_workflow_id = [&](const std::string& id) {
    if (sub_ids.size() <= kMostSubWorkflows) sub_ids.push_back(id.substr(0, kLongestWorkflowId + 1));
  };
  Done done;
  if (!run_rows_pass(file, known, pass, tally) || rows + old_rows == 0) return done;
  auto there = find_existing(expected, settings_.sender);
  if (!there) return std::nullopt;
  done.there = std::move(*there);
  const auto has_all = [](const std::vector<uint64_t>& of, Expected& wanted) {
    return std::includes(of.begin(), of.end(), wanted.keys().begin(), wanted.keys().end());
  };
  done.all = has_all(done.there, expected);
  // No table takes these by streaming: they stand in the file from the first try on, or were loaded from it since.
  done.written = rows_in_file(settings_.sender.ndjson_path, old.keys());
  if (!has_all(done.written, old)) {
    const auto loaded = find_existing(old, settings_.sender);
    if (!loaded) return std::nullopt;
    std::vector<uint64_t> both;
    std::set_union(done.written.begin(), done.written.end(), loaded->begin(), loaded->end(), std::back_inserter(both));
    done.written = std::move(both);
    done.all = done.all && has_all(done.written, old);
  }
  if (!done.all) return done;
  for (const std::string& id : sub_ids) as.sub_workflow_id(id);
  result_.already_there += rows;
  result_.never_there += old_rows;
  return done;
}

bool Upload::add_unless_done(MetadataRow& row, const Done& done) {
  const auto is_in = [key = row_key(row)](const std::vector<uint64_t>& keys) {
    return std::binary_search(keys.begin(), keys.end(), key);
  };
  if (is_in(done.there)) ++result_.already_there;
  else if (is_in(done.written)) ++result_.never_there;
  else return add(row);
  return true;
}

bool Upload::add(MetadataRow& row) {
  const size_t bytes = row_bytes(row);
  if (!batch_.empty() && (batch_.size() >= kBatchRows || batch_bytes_ + bytes > kBatchBytes) && !send()) return false;
  batch_bytes_ += bytes;
  batch_.push_back(std::move(row));
  return true;
}

void Upload::find_sizes() {
  std::vector<std::string_view> paths;
  std::vector<CallInput*> files;
  for (MetadataRow& row : batch_) {
    for (CallInput& input : row.inputs) {
      if (input.type != InputType::file) continue;
      paths.push_back(input.value);
      files.push_back(&input);
    }
  }
  if (files.empty()) return;
  const auto sizes = sizes_.sizes(paths, result_.sizes);
  for (size_t i = 0; i < files.size(); ++i) files[i]->size_bytes = sizes[i];
}

bool Upload::send() {
  if (batch_.empty()) return true;
  made_ += batch_.size();
  const uint64_t failed_before = result_.sizes.failed;
  if (settings_.with_sizes) find_sizes();
  if (settings_.hold_without_sizes && result_.sizes.failed > failed_before) {
    held_ = true;
    fail("Cloud Storage does not tell the sizes of " + std::to_string(result_.sizes.failed - failed_before) + " files",
         true);
    return false;
  }
  std::vector<BqRow> rows;
  std::string lines;
  for (MetadataRow& row : batch_) {
    if (settings_.print_only) lines.append(row_json(row)).append("\n");
    else rows.push_back({rows.size(), row_insert_id(row), row_json(row)});
    row = MetadataRow();  // both forms of a large batch need not be held
  }
  batch_.clear();
  batch_bytes_ = 0;
  if (settings_.print_only) {
    const Status status = append_ndjson("-", lines);
    if (!status) fail(status.error().message(), false);
    return static_cast<bool>(status);
  }
  if (!sender_) sender_ = std::make_unique<Sender>(settings_.sender);
  return sender_->push(std::move(rows));
}

void Upload::finish() {
  if (!held_) (void)send();
  if (!sender_) return;
  tell("sending the last of " + std::to_string(made_) + " rows");
  result_.sent = sender_->finish();
  if (!result_.sent.why.empty()) {
    result_.why = result_.sent.why;
    result_.later = result_.sent.later;
  }
}

}  // namespace

UploadResult WorkflowUploader::upload_id(const std::string& id) {
  UploadResult result;
  std::string next;
  CromwellSettings cromwell = settings_.cromwell;
  if (settings_.on_step)
    cromwell.on_bytes = [&](int64_t bytes) {
      settings_.on_step("fetching " + next, human_bytes(static_cast<double>(bytes)));
    };
  CromwellClient client(std::move(cromwell));
  Upload upload(settings_, sizes_, result);
  std::deque<std::string> ids{id};
  std::unordered_set<std::string> seen;  // a workflow that names itself is not followed for ever
  std::string root_id = id;
  while (!ids.empty()) {
    next = std::move(ids.front());
    ids.pop_front();
    if (!seen.insert(next).second) continue;
    if (settings_.on_step) settings_.on_step("fetching " + next, "");
    Fetched fetched = client.fetch(next);
    if (!fetched.file) {
      if (result.why.empty()) result.why = (next == id ? "" : "sub-workflow " + next + ": ") + fetched.why;
      result.later |= fetched.later;
      continue;
    }
    upload.document(*fetched.file, next, root_id, ids);
  }
  upload.finish();
  return result;
}

UploadResult WorkflowUploader::upload_file(const std::string& path) {
  UploadResult result;
  auto file = MetadataFile::open(path);
  if (!file) {
    result.why = file.error().message();
    return result;
  }
  Upload upload(settings_, sizes_, result);
  std::deque<std::string> ids;
  std::string root_id;
  upload.document(*file, "", root_id, ids);
  if (!ids.empty() && result.why.empty())
    result.why = std::to_string(ids.size()) + " sub-workflows are only named, the first is " + ids.front() +
                 " (save the metadata with expandSubWorkflows=true, or upload by id)";
  upload.finish();
  return result;
}

std::string UploadResult::text() const {
  std::string line;
  if (already_there > 0) line = std::to_string(already_there) + " rows are there already";
  if (never_there > 0)
    line += std::string(line.empty() ? "" : ", ") + std::to_string(never_there) +
            " were never taken for their dates and are not written again (--no-skip-existing writes them)";
  if (line.empty() || tally.rows > 0) {
    if (!line.empty()) line += ", ";
    line += std::to_string(sent.accepted) + " of " + std::to_string(tally.rows) + " rows uploaded";
  }
  if (sent.too_old > 0) line += ", " + std::to_string(sent.too_old) + " too old for streaming";
  if (!sent.too_old_path.empty() && sent.too_old_path != "-")
    line += " (load them with bq load --source_format=NEWLINE_DELIMITED_JSON from " + sent.too_old_path + ")";
  if (sent.dropped > 0) line += ", " + std::to_string(sent.dropped) + " refused";
  if (tally.skipped() > 0) line += "; calls without a row: " + tally.skipped_text();
  if (tally.bad > 0) line += "; " + std::to_string(tally.bad) + " calls make no sense";
  if (sizes.unknown > 0) line += "; " + std::to_string(sizes.unknown) + " files without a size";
  if (sizes.failed > 0) line += "; " + std::to_string(sizes.failed) + " sizes not to be had now";
  if (!why.empty()) line += "; " + why;
  return line;
}

}  // namespace tacho
