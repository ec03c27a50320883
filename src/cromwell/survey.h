// Pass 1 over a metadata document: checks it to its end and keeps what pass 2 must know in advance, because a
// workflow's id and name may follow its calls: the head of every workflow object in order of appearance (in a temporary
// file: there may be a million of them), and which members are replaced by later ones of the same name. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "cromwell/call.h"
#include "cromwell/metadata_file.h"
#include "os/fd.h"

namespace tacho {

// Heads by number, appended in any order.
class HeadFile {
 public:
  static Result<HeadFile> make();
  Status put(uint64_t number, const WorkflowHead& head);
  Result<WorkflowHead> get(uint64_t number);

 private:
  Status flush();

  Fd places_, heads_;  // eight bytes a number: where its head begins; the heads, each text with its length before it
  std::string unwritten_;
  int64_t written_ = 0;
};

struct Survey {
  HeadFile heads;
  WorkflowHead root;
  uint64_t workflows = 0;
  std::optional<Error> broken;                        // the document is not whole; heads are known as far as it goes
  std::unordered_map<uint64_t, uint64_t> superseded;  // offset of a value: workflow objects in it
};
// An Error only when a temporary file cannot be made. `told` hears how far it is; it may be empty.
Result<Survey> survey(const MetadataFile& file, std::function<void(int percent)> told = {});

}  // namespace tacho
