#include "katib/read/ordered_events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/path.h"
#include "katib/read/event_file.h"
#include "katib/read/event_rows.h"
#include "katib/read/place_json.h"
#include "katib/read/purge.h"
#include "katib/read/tag_selection.h"
#include "os/file.h"

namespace tacho {
namespace {

using Kind = SummaryValue::Kind;

// One pass over a file: the rows of one tag for one metric.
struct Pass {
  Kind kind;
  std::string tag;
  size_t metric;
};

class OrderedEventReader final : public Reader {
 public:
  OrderedEventReader(std::string root, ReaderOptions options)
      : root_(std::move(root)), options_(std::move(options)), selection_(options_), rows_(options_) {
    while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  }

  Result<bool> read(bool at_end, size_t limit, const Take& take) override {
    if (!at_end || options_.metrics.empty()) {
      folders_.clear();
      FolderTrouble trouble = FolderTrouble::none;
      find_event_files(root_, folders_, trouble);
      return false;
    }
    unread_.clear();
    if (!found_) find_all();
    if (!unread_.empty()) return later();
    taken_ = 0;
    limit = std::max<size_t>(limit, 1);
    for (; file_ < files_.size(); ++file_, pass_ = 0, leave_place(), known_ = false) {
      if (!known_) learn(files_[file_]);
      if (!unread_.empty()) return later();
      for (; pass_ < passes_.size(); ++pass_, leave_place()) {
        if (run_pass(files_[file_], passes_[pass_], limit, take)) return true;
        if (!unread_.empty()) return later();
      }
    }
    return false;
  }

  std::string position() const override {
    if (!found_) return wanted_;
    if (file_ == 0 && pass_ == 0 && !place_) return {};
    nlohmann::json json{{"file", file_ < files_.size() ? files_[file_].path : ""}, {"pass", pass_}};
    if (place_) json["place"] = place_to_json(*place_);
    if (place_ && values_ > 0) json["place"]["values"] = values_;
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  Status seek(std::string_view position) override {
    if (!position.empty() && !nlohmann::json::accept(position))
      return Error{Code::invalid, "the place in the event files cannot be understood", "",
                   "remove the state file to begin anew"};
    wanted_ = position;
    found_ = known_ = false;
    return ok();
  }

  std::vector<std::string> folders() const override { return event_folders(root_, folders_); }
  ReaderCounts counts() const override { return rows_.counts(bad_records_); }

 private:
  void leave_place() {
    place_.reset();
    values_ = 0;
  }

  // All files are needed for the order: nothing is passed on before each can be read.
  Error later() { return {Code::io, std::exchange(unread_, {}), "", "it is tried again"}; }

  void find_all() {
    folders_.clear();
    FolderTrouble trouble = FolderTrouble::none;
    files_ = find_event_files(root_, folders_, trouble);
    if (trouble == FolderTrouble::passing) unread_ = "a folder of event files cannot be listed: " + root_;
    found_ = true;
    known_ = false;
    file_ = pass_ = 0;
    leave_place();
    if (options_.tag_rule == TagRule::whole) find_best();
    if (!unread_.empty()) found_ = false;  // once more from here
    if (wanted_.empty() || !found_) return;
    try {
      const auto json = nlohmann::json::parse(std::exchange(wanted_, {}));
      const auto path = json.at("file").get<std::string>();
      const auto known =
          std::find_if(files_.begin(), files_.end(), [&](const FoundFile& file) { return file.path == path; });
      file_ = path.empty() ? files_.size() : known == files_.end() ? 0 : static_cast<size_t>(known - files_.begin());
      if (known == files_.end()) return;
      pass_ = json.at("pass").get<size_t>();
      if (!json.contains("place")) return;
      place_ = place_from_json(json["place"]);
      values_ = json["place"].value("values", uint64_t{0});
    } catch (const nlohmann::json::exception&) {
      log::warn("the place in the event files cannot be understood; they are read from the beginning");
      file_ = pass_ = 0;
    }
  }

  template <class Visit>
  void for_each_value(const FoundFile& file, std::optional<GrowingFile::Place> place, const Visit& visit) {
    EventFile events(file.path, place);
    if (place) events.pass_values(values_);
    Event event;
    EventFile::Next next = EventFile::Next::event;
    while ((next = events.next(event, true)) == EventFile::Next::event)
      if (!visit(event, events)) return;
    if (next == EventFile::Next::later) {
      unread_ = events.error();
      left_at_ = events.place();
      return;
    }
    if (next == EventFile::Next::broken) warn_of_broken(file.path, events.error());
    bad_in_pass_ = events.bad_records();
  }

  // The best kind of match of each metric over all files.
  void find_best() {
    best_.assign(options_.metrics.size(), TagMatch::none);
    for (const FoundFile& file : files_) {
      const auto fits = selection_.metrics_of_folder(file.folder);
      for_each_value(file, std::nullopt, [&](const Event& event, const EventFile&) {
        SummaryValues values(event);
        for (SummaryValue value; values.next(value);)
          for (size_t i = 0; value.kind != Kind::other && i < best_.size(); ++i)
            best_[i] = std::min(best_[i], selection_.match(i, fits[i], value.tag));
        return true;
      });
    }
    for (size_t i = 0; i < best_.size(); ++i)
      if (best_[i] == TagMatch::prefix)
        log::warn("no tag is called " + options_.metrics[i] +
                  "; tags that begin so are taken (name the metric as the tag is called)");
  }

  // The passes over a file and its restarts.
  void learn(const FoundFile& file) {
    std::vector<std::string> tensors, simples;
    purged_ = {};
    const auto fits = selection_.metrics_of_folder(file.folder);
    for_each_value(file, std::nullopt, [&](const Event& event, const EventFile& events) {
      purged_.see(event, events.event_offset());
      SummaryValues values(event);
      for (SummaryValue value; values.next(value);) {
        if (value.kind == Kind::other) continue;
        auto& tags = value.kind == Kind::tensor ? tensors : simples;
        if (!tags.empty() && tags.back() == value.tag) continue;
        if (!is_wanted(fits, value.tag) || std::find(tags.begin(), tags.end(), value.tag) != tags.end()) continue;
        tags.emplace_back(value.tag);
      }
      return true;
    });
    if (!unread_.empty()) return;
    bad_records_ += bad_in_pass_;
    passes_.clear();
    for (const auto& [kind, tags] : {std::pair(Kind::tensor, &tensors), std::pair(Kind::simple, &simples)})
      for (const std::string& tag : *tags)
        for (size_t i = 0; i < options_.metrics.size(); ++i)
          if (is_taken(i, fits[i], tag)) passes_.push_back({kind, tag, i});
    known_ = true;
  }

  bool is_taken(size_t metric, bool fits, std::string_view tag) const {
    const TagMatch match = selection_.match(metric, fits, tag);
    return match != TagMatch::none && (best_.empty() || match == best_[metric]);
  }
  bool is_wanted(const std::vector<bool>& fits, std::string_view tag) const {
    for (size_t i = 0; i < fits.size(); ++i)
      if (is_taken(i, fits[i], tag)) return true;
    return false;
  }

  // True when the limit was reached.
  bool run_pass(const FoundFile& file, const Pass& pass, size_t limit, const Take& take) {
    bool enough = false;
    for_each_value(file, place_, [&](const Event& event, const EventFile& events) {
      SummaryValues values(event);
      const uint64_t done = event.continues ? values_ : std::exchange(values_, 0);
      uint64_t number = event.first_value;
      for (SummaryValue value; values.next(value); ++number) {
        if (number < done || value.kind != pass.kind || value.tag != pass.tag) continue;
        if (taken_ >= limit) {
          place_ = events.event_place();
          values_ = number;
          return !(enough = true);
        }
        if (value.kind == Kind::simple && purged_.removed(value.tag, event.step, events.event_offset())) continue;
        if (rows_.pass_on(options_.metrics[pass.metric], event, value, take)) ++taken_;
      }
      enough = taken_ >= limit;
      if (!enough) return true;
      place_ = event.continues ? events.event_place() : events.place();
      if (event.continues) values_ = std::max(done, number);
      return !enough;
    });
    if (!enough && !unread_.empty() && left_at_) place_ = left_at_, values_ = 0;
    return enough;
  }

  std::string root_;
  ReaderOptions options_;
  TagSelection selection_;
  EventRows rows_;
  std::vector<TagMatch> best_;  // empty: every match counts
  std::vector<std::string> folders_;
  bool found_ = false;  // files_ is right
  std::vector<FoundFile> files_;
  std::string wanted_;  // a seek that was not done yet
  size_t file_ = 0, pass_ = 0;
  std::optional<GrowingFile::Place> place_;  // within the pass
  uint64_t values_ = 0;                      // of the record there that were passed on
  bool known_ = false;                       // passes_ and purged_ are those of file_
  std::vector<Pass> passes_;
  PurgeLog purged_;
  size_t taken_ = 0;
  uint64_t bad_records_ = 0, bad_in_pass_ = 0;
  std::string unread_;                         // why a file cannot be read now
  std::optional<GrowingFile::Place> left_at_;  // how far it could
};

}  // namespace

std::unique_ptr<Reader> make_ordered_event_reader(std::string folder, ReaderOptions options) {
  return std::make_unique<OrderedEventReader>(std::move(folder), std::move(options));
}

std::vector<std::string> event_folders(const std::string& root, const std::vector<std::string>& found) {
  if (!found.empty()) return found;
  return {file_exists(root) ? root : parent_folder(root)};
}

}  // namespace tacho
