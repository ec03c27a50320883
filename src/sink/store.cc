#include "sink/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/time_text.h"
#include "base/units.h"
#include "codec/run_json.h"
#include "os/atomic_file.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/line_file.h"
#include "os/unique.h"
#include "report/store/store.h"
#include "sink/csv_file.h"

namespace tacho {
namespace {

constexpr mode_t kFolderMode = 0700;
// A run.json that is replaced as a whole costs ten times a row, so where it cannot be updated in place it is replaced
// only so often. A little below a second, so that a tick that came early does not wait for the next.
constexpr int64_t kReplaceEveryNs = 950 * kNsPerMs;
// Every row renews the page that changes, unless they are meant to come faster than this: with cold caches a page costs
// a third of a whole tick of 10 ms, which has to stay below 2 % of a core.
constexpr int64_t kPageEveryNs = 50 * kNsPerMs;

// One text whatever file it was, so that a full disk is told once.
Status store_status(const Status& status, const std::string& folder) {
  if (status) return ok();
  return Error{status.error().code, "cannot write to the run store", folder, status.error().hint};
}

// The run's folder, held open: in a store that others may write to, its name may be somebody else's link by the time
// that a file in it is replaced or removed.
class HeldFolder {
 public:
  explicit HeldFolder(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}
  const std::string& path() const { return path_; }  // for messages
  // Leads to this very folder, where /proc is there to do so.
  std::string reached() const {
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd_.get());
    return fd_ && same_file(by_descriptor, path_) ? by_descriptor : path_;
  }

 private:
  std::string path_;
  Fd fd_;
};

void remove_run_folder(const std::string& reached, const std::string& folder) {
  for (const char* name :
       {"/metrics.csv", "/run.json", "/.run.json.next", "/processes.csv", "/devices.csv", "/marks.csv"})
    ::unlink((reached + name).c_str());
  if (same_file(reached, folder)) ::rmdir(folder.c_str());  // somebody may have put another in its place
}

class StoreSink final : public Sink {
 public:
  StoreSink(std::string folder, const Run& run, const Summary& summary)
      : held_(std::move(folder)),
        folder_(held_.path()),
        reached_(held_.reached()),
        run_json_(reached_, "run.json", kRunFileMode),
        run_(run),
        summary_(summary) {}

  // run.json first: a folder that has anything has that, whenever tacho is killed.
  Status open() {
    if (const Status status = write_run(run_); !status) return status;
    first_bytes_ = text_.view().size();
    auto file = LineFile::create(reached_ + "/metrics.csv", kRunFileMode);
    if (!file) return file.error();
    // Tells `tacho runs` that this run is alive, whatever happens to process ids.
    file->lock();
    rows_.emplace(std::move(*file), false);
    return ok();
  }

  Status begin(const Run&, const Schema& schema) override {
    rows_->begin(schema);
    return store_status(replace_live(), folder_);
  }

  Status write(const Row& row, const Detail*) override {
    const Status written = rows_->write(row);
    since_replaced_ns_ += row.interval_ns;
    since_page_ns_ += row.interval_ns;
    if (row.closing) return store_status(written, folder_);  // the final run.json follows at once
    const bool is_fast = run_.interval_ns < kPageEveryNs;
    if (row.index > 0 && is_fast && since_page_ns_ < kPageEveryNs) return store_status(written, folder_);
    since_page_ns_ = 0;
    const Status json = update_live(row.index == 0);
    return store_status(written ? json : written, folder_);
  }

  Status end(const Run& run) override {
    const Status status = write_run(run);
    if (!status) end_in_place();  // on a full disk what is there may still be renewed
    run_json_.finish();
    return store_status(status, folder_);
  }

  void discard() override {
    rows_.reset();
    run_json_.finish();
    remove_run_folder(reached_, folder_);
  }

  std::string_view name() const override { return "store"; }

 private:
  Status write_run(const Run& run) {
    text_.clear();
    write_run_json(text_, run, summary_);
    return run_json_.replace(text_.view());
  }

  Status replace_live() {
    text_.clear();
    const size_t offset = write_live_run_json(text_, run_, summary_);
    const Status status = run_json_.replace(text_.view());
    if (!status) return status;
    live_offset_ = offset;
    live_bytes_ = text_.view().size() - offset;
    live_revision_ = run_.revision;
    since_replaced_ns_ = 0;
    return status;
  }

  Status update_live(bool first_row) {
    if (run_.revision == live_revision_) {
      text_.clear();
      // A text that is another length now would leave the end of the old one behind it.
      const bool fits = write_live_pages(text_, run_, summary_) && text_.view().size() == live_bytes_;
      if (fits && run_json_.overwrite(live_offset_, text_.view())) return ok();
      if (!first_row && since_replaced_ns_ < kReplaceEveryNs) return ok();
    }
    return replace_live();
  }

  // Each page is written whole or not at all, and any of them fits to the others.
  void end_in_place() {
    text_.clear();
    if (live_bytes_ == 0) return end_in_first_page();
    const size_t offset = write_live_run_json(text_, run_, summary_);
    const std::string_view text = text_.view();
    const bool same_head = run_.revision == live_revision_ || offset == kLivePageBytes;
    if (!same_head || offset != live_offset_ || text.size() != live_offset_ + live_bytes_) return;
    if (run_json_.overwrite(offset, text.substr(offset)))
      static_cast<void>(run_json_.overwrite(0, text.substr(0, std::min(offset, kLivePageBytes))));
  }

  // No text came behind the first: how the run ended has room in its page, the statistics have not.
  void end_in_first_page() {
    write_run_json(text_, run_, Summary());
    if (text_.view().size() < first_bytes_) text_.put_spaces(first_bytes_ - text_.view().size());
    if (text_.view().size() <= kLivePageBytes) static_cast<void>(run_json_.overwrite(0, text_.view()));
  }

  HeldFolder held_;
  std::string folder_, reached_;  // for messages; for files
  std::optional<CsvFile> rows_;
  AtomicFile run_json_;
  const Run& run_;
  const Summary& summary_;
  Writer text_{16 * 1024};
  int64_t since_replaced_ns_ = 0, since_page_ns_ = 0;
  size_t first_bytes_ = 0, live_offset_ = 0, live_bytes_ = 0;
  int live_revision_ = 0;
};

// 48 random bits: a team that records a thousand runs a day for ten years has a pair of equal ids with a chance below
// one in a million, and rows of several machines meet in one table.
constexpr size_t kIdDigits = 12;

std::string id_of(int64_t realtime_ns) {
  const IsoTime time(realtime_ns);
  const std::string_view date = time.date();
  std::string id;
  for (const char c : date)
    if (c != '-') id += c;
  return id + "-" + random_hex(kIdDigits);
}

Error with_hint(Error error) {
  error.what = "cannot make a run in the store";
  error.hint += error.hint.empty() ? "" : "; ";
  error.hint += "choose another place with --store DIR, or --no-store";
  return error;
}

}  // namespace

std::string make_run_id(int64_t realtime_ns) { return id_of(realtime_ns); }

Result<std::unique_ptr<Sink>> open_store(const std::string& store_dir, Run& run, const Summary& summary) {
  // Before, because a link would have the folder made elsewhere; after, because somebody may be quicker.
  if (const Status ours = check_run_store(store_dir); !ours) return with_hint(ours.error());
  if (const Status made = make_directories(store_dir, kFolderMode); !made) return with_hint(made.error());
  if (const Status ours = check_run_store(store_dir); !ours) return with_hint(ours.error());
  const int64_t started_ns = run.outcome.started_realtime_ns;
  const int64_t now_ns = started_ns > 0 ? started_ns : system_clock().realtime_ns();
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::string id = id_of(now_ns);
    const std::string folder = store_dir + "/" + id;
    const Result<bool> made = make_new_directory(folder, kFolderMode);
    if (!made) return with_hint(made.error());
    if (!*made) continue;
    run.id = id;
    auto sink = std::make_unique<StoreSink>(folder, run, summary);
    if (const Status opened = sink->open(); !opened) {
      sink->discard();  // half a run is none
      run.id.clear();
      Error error = opened.error();
      error.path = store_dir;  // its own is by a descriptor
      return with_hint(std::move(error));
    }
    return std::unique_ptr<Sink>(std::move(sink));
  }
  return with_hint(Error{Code::io, "", store_dir, "every tried run id is taken"});
}

}  // namespace tacho
