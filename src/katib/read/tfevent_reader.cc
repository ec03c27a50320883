// TensorFlowEvent: follows all event files of a folder while they grow, each from where it was left. Rows come file by
// file in the order of their records. For --report end see ordered_events.h.
#include <algorithm>
#include <map>

#include "base/log.h"
#include "katib/read/event_file.h"
#include "katib/read/event_rows.h"
#include "katib/read/ordered_events.h"
#include "katib/read/place_json.h"
#include "katib/read/readers.h"
#include "katib/read/tag_selection.h"

namespace tacho {
namespace {

constexpr uint64_t kLookAheadBytes = uint64_t{16} << 20;

class TfeventReader final : public Reader {
 public:
  TfeventReader(std::string root, ReaderOptions options)
      : root_(std::move(root)),
        options_(std::move(options)),
        selection_(options_),
        letters_(selection_.first_letters()),
        rows_(options_),
        best_(options_.metrics.size(), TagMatch::none) {
    while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  }

  Result<bool> read(bool at_end, size_t limit, const Take& take) override {
    if (options_.metrics.empty()) return false;
    taken_ = 0;
    limit_ = std::max<size_t>(limit, 1);
    passed_ = 0;
    if (next_file_ == 0) {
      unread_.clear();
      find_files();
    }
    for (; next_file_ < files_.size(); ++next_file_) {
      File& file = files_[next_file_];
      if (file.broken || (file.size == file.drained_size && !at_end)) continue;
      later_ = false;
      if (read_file(file, at_end, take)) return true;
      if (!ends_ && !later_) file.drained_size = file.size;
    }
    next_file_ = 0;
    // The others were read; these are tried again.
    if (!unread_.empty()) return Error{Code::io, unread_, "", "it is tried again"};
    return false;
  }

  std::string position() const override {
    auto files = nlohmann::json::array();
    for (const File& file : files_) {
      if (!file.place) continue;
      auto json = place_to_json(*file.place);
      if (file.values > 0) json["values"] = file.values;
      json["path"] = file.path;
      files.push_back(std::move(json));
    }
    if (files.empty()) return {};
    auto best = nlohmann::json::array();
    for (const TagMatch match : best_) best.push_back(static_cast<int>(match));
    return nlohmann::json{{"files", std::move(files)}, {"tags", std::move(best)}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  // Files grow in any order, so the same number of rows is not the same rows.
  Status stop_at(std::string_view position) override {
    ends_.reset();
    next_file_ = 0;
    if (position.empty()) return ok();
    try {
      Ends ends;
      visit_files(position, [&](const nlohmann::json& entry) {
        const GrowingFile::Place place = place_from_json(entry);
        ends[{place.file.device, place.file.inode}] = {place.offset, entry.value("values", uint64_t{0})};
      });
      ends_ = std::move(ends);
    } catch (const nlohmann::json::exception&) { return unknown_places(); }
    return ok();
  }

  Status seek(std::string_view position) override {
    std::vector<File> files;
    std::vector<TagMatch> best(best_.size(), TagMatch::none);
    try {
      if (!position.empty()) {
        const auto json = visit_files(position, [&](const nlohmann::json& entry) {
          File& file = files.emplace_back();
          file.path = entry.at("path").get<std::string>();
          file.place = place_from_json(entry);
          file.values = entry.value("values", uint64_t{0});
        });
        const auto& tags = json.at("tags");
        for (size_t i = 0; i < best.size() && i < tags.size(); ++i)
          best[i] = static_cast<TagMatch>(std::clamp(tags[i].get<int>(), 0, 3));
      }
    } catch (const nlohmann::json::exception&) { return unknown_places(); }
    files_ = std::move(files);
    best_ = std::move(best);
    next_file_ = 0;
    return ok();
  }

  bool restarted() override { return std::exchange(restarted_, false); }
  void want_rows(bool want) override { want_rows_ = want; }
  std::vector<std::string> folders() const override { return event_folders(root_, folders_); }
  ReaderCounts counts() const override { return rows_.counts(bad_records_); }

 private:
  struct End {
    uint64_t offset = 0, values = 0;
  };
  using Ends = std::map<std::pair<uint64_t, uint64_t>, End>;  // by device and inode
  // Entry by entry, and no more than there can be: a position that somebody else has planted becomes no large tree.
  // Returns the rest of it.
  template <class Visit>
  static nlohmann::json visit_files(std::string_view position, const Visit& visit) {
    using Json = nlohmann::json;
    size_t files = 0;
    auto rest = Json::parse(position, [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth != 2 || event != Json::parse_event_t::object_end) return true;
      if (++files > kMostEventFiles) throw Json::other_error::create(501, "more files than are read", &parsed);
      visit(parsed);
      return false;
    });
    if (!rest.at("files").is_array()) throw Json::other_error::create(501, "no list of files", &rest);
    return rest;
  }
  static Error unknown_places() {
    return {Code::invalid, "the places in the event files cannot be understood", "",
            "remove the state file to begin anew"};
  }
  struct File {
    std::string path;
    std::optional<GrowingFile::Place> place;
    uint64_t values = 0;  // of the record there that were passed on: one may hold more than a chunk does
    GrowingFile::Identity identity;
    uint64_t size = 0;
    uint64_t drained_size = ~uint64_t{0};  // as big it was when all of it was read
    bool broken = false;
    std::vector<bool> fits;    // for each metric: its folder part fits
    std::vector<bool> looked;  // for each metric: a better tag than one by prefix was looked for
  };

  // Files are known by identity: one that was moved goes on where it was.
  void find_files() {
    folders_.clear();
    std::map<std::pair<uint64_t, uint64_t>, File*> known;
    for (File& file : files_) {
      const auto& id = file.place ? file.place->file : file.identity;
      known[{id.device, id.inode}] = &file;
    }
    std::vector<File> files;
    FolderTrouble trouble = FolderTrouble::none;
    for (FoundFile& found : find_event_files(root_, folders_, trouble)) {
      File file;
      const auto old = known.find({found.identity.device, found.identity.inode});
      if (old != known.end() && old->second != nullptr) file = *std::exchange(old->second, nullptr);
      if (found.size < file.size) file.broken = false;  // it began anew
      file.path = std::move(found.path);
      file.identity = found.identity;
      file.size = found.size;
      file.fits = selection_.metrics_of_folder(found.folder);
      file.looked.resize(options_.metrics.size());
      files.push_back(std::move(file));
    }
    // Where a folder could not be listed, its files are still there: their places are kept.
    for (const auto& [id, file] : known)
      if (trouble != FolderTrouble::none && file != nullptr && file->place)
        files.push_back(std::move(*file)), files.back().drained_size = files.back().size;
    if (trouble == FolderTrouble::passing) unread_ = "a folder of event files cannot be listed: " + root_;
    files_ = std::move(files);
  }

  // True: there is more, the caller's limit was reached.
  bool read_file(File& file, bool at_end, const Take& take) {
    EventFile events(file.path, file.place);
    events.pass_values(file.values);
    const uint64_t begun = file.place ? file.place->offset : 0;
    Event event;
    End end{UINT64_MAX, 0};
    if (ends_) {
      const auto known = ends_->find({file.identity.device, file.identity.inode});
      end = known == ends_->end() ? End{} : known->second;
    }
    const auto before_end = [&] {
      return event.continues || events.offset() < end.offset ||
             (events.offset() == end.offset && file.values < end.values);
    };
    if (begun > end.offset || (begun == end.offset && file.values >= end.values)) return false;
    bool enough = false, inside = false;
    EventFile::Next next = EventFile::Next::event;
    // A file that has a place is only asked whether it began anew; to have one, something of it must have been read.
    if (!want_rows_) next = begun > 0 ? events.look() : events.next(event, at_end);
    if (!ends_) events.want_tags(letters_);  // what is passed over may go beyond an end
    while (want_rows_ && !enough && before_end() && (next = events.next(event, at_end)) == EventFile::Next::event) {
      if (events.event_offset() != begun) file.values = 0;  // the file began anew
      const uint64_t most = events.event_offset() == end.offset ? end.values : UINT64_MAX;
      inside = event.has_summary && !pass_on(file, events, event, most, take);
      if (!inside && !event.continues) file.values = 0;
      enough = inside || taken_ >= limit_ || passed_ + events.offset() - begun >= kMostBytesARead;
      if (enough && !inside && event.continues) inside = true, file.values = std::max(file.values, next_value_);
    }
    passed_ += events.offset() > begun ? events.offset() - begun : 0;
    file.place = inside ? events.event_place() : events.place();
    restarted_ = events.restarted() || restarted_;
    bad_records_ += events.bad_records();
    file.broken = next == EventFile::Next::broken;
    if (file.broken) warn_of_broken(file.path, events.error());
    later_ = next == EventFile::Next::later;
    if (later_) unread_ = events.error();
    return enough;
  }

  // False: some of its values are left for the next time; file.values tells where to go on.
  bool pass_on(File& file, const EventFile& events, const Event& event, uint64_t most, const Take& take) {
    SummaryValues values(event);
    uint64_t number = event.first_value;
    for (SummaryValue value; values.next(value); ++number) {
      if (number < file.values) continue;
      if (number >= most || taken_ >= limit_) return file.values = number, false;
      if (value.kind == SummaryValue::Kind::other) continue;
      for (size_t i = 0; i < options_.metrics.size(); ++i) {
        const TagMatch match = selection_.match(i, file.fits[i], value.tag);
        if (match == TagMatch::none || !is_best(file, events, i, match, value.tag)) continue;
        if (rows_.pass_on(options_.metrics[i], event, value, take)) ++taken_;
      }
    }
    next_value_ = number;
    return true;
  }

  // With the tacho profile only the best kind of match counts. Before a tag is taken by its beginning alone, the file
  // is searched for a better one, since writers write all their tags at every step.
  bool is_best(File& file, const EventFile& events, size_t metric, TagMatch match, std::string_view tag) {
    if (options_.tag_rule == TagRule::prefix) return true;
    if (match == TagMatch::prefix && best_[metric] >= TagMatch::prefix && !file.looked[metric]) {
      file.looked[metric] = true;
      best_[metric] = std::min(best_[metric], look_ahead(file, events, metric));
      if (best_[metric] >= TagMatch::prefix)
        log::warn("no tag is called " + options_.metrics[metric] + "; tags that begin so are taken, such as " +
                  std::string(tag) + " (name the metric as the tag is called)");
    }
    best_[metric] = std::min(best_[metric], match);
    return match == best_[metric];
  }

  TagMatch look_ahead(const File& file, const EventFile& events, size_t metric) const {
    TagMatch best = TagMatch::none;
    EventFile ahead(file.path, events.place());
    Event event;
    while (best >= TagMatch::prefix && ahead.next(event, false) == EventFile::Next::event &&
           ahead.offset() < events.offset() + kLookAheadBytes) {
      SummaryValues values(event);
      for (SummaryValue value; values.next(value);)
        if (value.kind != SummaryValue::Kind::other)
          best = std::min(best, selection_.match(metric, file.fits[metric], value.tag));
    }
    return best;
  }

  std::string root_;
  ReaderOptions options_;
  TagSelection selection_;
  FirstLetters letters_;
  EventRows rows_;
  std::vector<TagMatch> best_;  // for each metric, of all tags so far
  std::vector<std::string> folders_;
  std::vector<File> files_;
  std::optional<Ends> ends_;  // nothing behind these is read
  size_t next_file_ = 0;
  uint64_t next_value_ = 0;       // of the record whose event was passed on last
  size_t taken_ = 0, limit_ = 0;  // rows of this read()
  uint64_t passed_ = 0;           // bytes of this read()
  uint64_t bad_records_ = 0;
  bool restarted_ = false, want_rows_ = true;
  bool later_ = false;  // the file at hand cannot be read now
  std::string unread_;  // the same of any file of this round: why
};

}  // namespace

std::unique_ptr<Reader> make_tfevent_reader(std::string folder, ReaderOptions options) {
  if (options.report_at_end) return make_ordered_event_reader(std::move(folder), std::move(options));
  return std::make_unique<TfeventReader>(std::move(folder), std::move(options));
}

}  // namespace tacho
