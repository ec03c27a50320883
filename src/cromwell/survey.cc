#include "cromwell/survey.h"

#include <array>
#include <optional>
#include <vector>

#include "cromwell/walk.h"
#include "os/temporary_file.h"

namespace tacho {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;
constexpr size_t kMostSuperseded = 500'000;
constexpr std::array kTexts = {&WorkflowHead::id, &WorkflowHead::name, &WorkflowHead::status, &WorkflowHead::start,
                               &WorkflowHead::end};

class SurveyVisitor : public WalkVisitor {
 public:
  explicit SurveyVisitor(Survey& result) : result_(result) {}

  void workflow_begins() override { open_.push_back(result_.workflows++); }
  void workflow_ends(const WorkflowHead& head) override {
    const uint64_t number = open_.back();
    open_.pop_back();
    if (number == 0) result_.root = head;
    if (const Status status = result_.heads.put(number, head); !status && !failure_) failure_ = status.error();
  }
  void workflow_broke(const WorkflowHead& head) override { workflow_ends(head); }
  void superseded(uint64_t offset, uint64_t workflows) override {
    if (result_.superseded.size() < kMostSuperseded) result_.superseded[offset] = workflows;
    else if (!failure_)
      failure_ =
          Error{Code::invalid, "the document repeats its members again and again", "", "fetch the metadata again"};
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  Survey& result_;
  std::vector<uint64_t> open_;
  std::optional<Error> failure_;
};

}  // namespace

Result<HeadFile> HeadFile::make() {
  HeadFile file;
  for (Fd* fd : {&file.places_, &file.heads_}) {
    auto made = open_temporary_file();
    if (!made) return made.error();
    *fd = std::move(*made);
  }
  return file;
}

Status HeadFile::flush() {
  const Status status = write_at(heads_.get(), unwritten_.data(), unwritten_.size(), written_);
  written_ += static_cast<int64_t>(unwritten_.size());
  unwritten_.clear();
  return status;
}

Status HeadFile::put(uint64_t number, const WorkflowHead& head) {
  const int64_t place = written_ + static_cast<int64_t>(unwritten_.size());
  for (const auto text : kTexts) {
    const auto size = static_cast<uint32_t>((head.*text).size());
    unwritten_.append(reinterpret_cast<const char*>(&size), sizeof size).append(head.*text);
  }
  if (unwritten_.size() >= kFlushBytes)
    if (const Status status = flush(); !status) return status;
  return write_at(places_.get(), reinterpret_cast<const char*>(&place), sizeof place,
                  static_cast<int64_t>(number * sizeof place));
}

Result<WorkflowHead> HeadFile::get(uint64_t number) {
  if (!unwritten_.empty())
    if (const Status status = flush(); !status) return status.error();
  int64_t place = 0;
  const auto found = read_at(places_.get(), reinterpret_cast<char*>(&place), sizeof place,
                             static_cast<int64_t>(number * sizeof place));
  if (!found) return found.error();
  WorkflowHead head;
  for (const auto text : kTexts) {
    uint32_t size = 0;
    const auto got = read_at(heads_.get(), reinterpret_cast<char*>(&size), sizeof size, place);
    if (!got || *got != sizeof size) return Error{Code::io, "a temporary file was damaged", "", "try again"};
    (head.*text).resize(size);
    if (const auto rest = read_at(heads_.get(), (head.*text).data(), size, place + int64_t{sizeof size}); !rest)
      return rest.error();
    place += int64_t{sizeof size} + size;
  }
  return head;
}

Result<Survey> survey(const MetadataFile& file, std::function<void(int percent)> told) {
  auto heads = HeadFile::make();
  if (!heads) return heads.error();
  Survey result{std::move(*heads), {}, 0, {}, {}};
  SurveyVisitor visitor(result);
  JsonReader reader(file.reader(std::move(told)));
  if (const Status status = MetadataWalk(reader, visitor).run(); !status) result.broken = status.error();
  if (visitor.failure()) return *visitor.failure();
  return result;
}

}  // namespace tacho
