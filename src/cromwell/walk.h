// The way through a workflow's metadata, the same for both passes: workflows, their calls, and the sub-workflows inside
// calls, one call held at a time. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cromwell/call.h"
#include "cromwell/json_reader.h"

namespace tacho {

class WalkVisitor {
 public:
  virtual ~WalkVisitor() = default;
  // Workflow objects in the order of their begin; an inner one ends before the outer one.
  virtual void workflow_begins() {}
  virtual void workflow_ends(const WorkflowHead&) {}
  // The document broke inside a workflow; what is known of it up to there.
  virtual void workflow_broke(const WorkflowHead&) {}
  // Whether calls are to be read, and their inputs; otherwise only their sub-workflows are entered.
  virtual bool wants_calls() const { return false; }
  virtual bool wants_inputs() const { return false; }
  virtual void call(Call&) {}
  // Something stands where a call, or a list of them, should be.
  virtual void bad_call(const std::string& /*fqn*/, const std::string& /*why*/) {}
  // A value that a later member of the same name replaces: where it began and how many workflow objects it had.
  virtual void superseded(uint64_t /*offset*/, uint64_t /*workflows*/) {}
  // Whether the value that begins there is replaced later, and must be skipped.
  virtual bool is_superseded(uint64_t /*offset*/) { return false; }
};

class MetadataWalk {
 public:
  MetadataWalk(JsonReader& reader, WalkVisitor& visitor) : reader_(reader), visitor_(visitor) {}
  // The whole document. An Error names the byte.
  Status run();
  uint64_t workflows() const { return workflows_; }

 private:
  using Token = JsonReader::Token;
  struct Span {
    bool there = false;
    uint64_t offset = 0, workflows = 0;
  };

  bool members(WorkflowHead& head);
  bool workflow();  // all of these: behind the first token; false when the document is broken
  bool calls(Token first);
  bool attempts(Token first, const std::string& fqn);
  bool one_call(const std::string& fqn);
  bool sub_workflow(Token first, const std::string& fqn, Span& before);
  void begin(Span& span);  // another value for the same member: the one before does not count
  void end(Span& span) const { span.workflows = workflows_ - span.workflows; }
  Call& held_call();

  JsonReader& reader_;
  WalkVisitor& visitor_;
  uint64_t workflows_ = 0;
  std::vector<std::unique_ptr<Call>> held_;  // one a level of sub-workflows
  size_t level_ = 0, names_ = 0;             // names_: of calls, in all workflows that are open
  int nested_ = 0;                           // sub-workflows that are open
};

}  // namespace tacho
