#include "cromwell/rows_pass.h"

#include <optional>
#include <vector>

#include "base/log.h"
#include "cromwell/walk.h"

namespace tacho {
namespace {

constexpr uint64_t kMostPrinted = 100;  // bad calls; the rest is counted

class RowsVisitor : public WalkVisitor {
 public:
  RowsVisitor(Survey& survey, const RowsPass& pass, Tally& tally) : survey_(survey), pass_(pass), tally_(tally) {}

  bool wants_calls() const override { return !failure_; }
  bool wants_inputs() const override { return pass_.with_inputs; }
  bool is_superseded(uint64_t offset) override {
    const auto found = survey_.superseded.find(offset);
    if (found == survey_.superseded.end()) return false;
    number_ += found->second;
    return true;
  }
  void workflow_begins() override {
    auto head = survey_.heads.get(number_++);
    if (!head && !failure_) failure_ = head.error();
    open_.push_back(head ? std::move(*head) : WorkflowHead());
    if (open_.size() == 1 && open_[0].id.empty()) open_[0].id = pass_.own_id;
  }
  void workflow_ends(const WorkflowHead&) override { open_.pop_back(); }

  void bad_call(const std::string& fqn, const std::string& why) override {
    ++tally_.bad;
    if (pass_.quiet || tally_.bad > kMostPrinted) return;
    log::error("workflow " + (open_.empty() ? pass_.root_id : open_.back().id) + (fqn.empty() ? "" : ", call " + fqn) +
               ": " + why);
    if (tally_.bad == kMostPrinted) log::error("more calls like this are counted, not printed");
  }

  void call(Call& call) override {
    if (failure_) return;
    const auto fate = make_row(call, open_.back(), pass_.root_id, pass_.options, row_);
    if (!fate) return bad_call(call.fqn + place(call), fate.error().message());
    switch (*fate) {
      case Fate::row:
        ++tally_.rows;
        if (!pass_.row(row_)) failure_ = Error{Code::gone, "the upload was ended", "", ""};
        break;
      case Fate::sub_workflow:
        ++tally_.sub_workflows;
        if (!call.has_sub_workflow && pass_.sub_workflow_id) pass_.sub_workflow_id(call.sub_workflow_id);
        break;
      case Fate::cached: ++tally_.cached; break;
      case Fate::not_started: ++tally_.not_started; break;
      case Fate::running: ++tally_.running; break;
      case Fate::other_backend: ++tally_.other_backend; break;
      case Fate::no_time: ++tally_.no_time; break;
    }
  }

  const std::optional<Error>& failure() const { return failure_; }

 private:
  static std::string place(const Call& call) {
    const auto text = [](const MaybeInteger& number) { return number.value ? std::to_string(*number.value) : "?"; };
    return ", shard " + text(call.shard) + ", attempt " + text(call.attempt);
  }

  Survey& survey_;
  const RowsPass& pass_;
  uint64_t number_ = 0;
  std::vector<WorkflowHead> open_;
  Tally& tally_;
  MetadataRow row_;
  std::optional<Error> failure_;
};

}  // namespace

std::string Tally::skipped_text() const {
  std::string text;
  const auto say = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    if (!text.empty()) text += ", ";
    text += std::to_string(count) + " " + what;
  };
  say(cached, "cached or bypassed");
  say(not_started, "never started");
  say(running, "still running");
  say(other_backend, "of another backend (--all-backends)");
  say(no_time, "without any time");
  return text;
}

Status run_rows_pass(const MetadataFile& file, Survey& survey, const RowsPass& pass, Tally& tally) {
  RowsVisitor visitor(survey, pass, tally);
  JsonReader reader(file.reader(pass.told));
  if (const Status status = MetadataWalk(reader, visitor).run(); !status) return status;
  if (visitor.failure()) return *visitor.failure();
  return ok();
}

}  // namespace tacho
