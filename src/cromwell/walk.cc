#include "cromwell/walk.h"

#include <algorithm>
#include <functional>

#include "cromwell/call_reader.h"

namespace tacho {
namespace {

constexpr int kMostNested = 64;         // sub-workflows inside one another
constexpr size_t kMostNames = 100'000;  // names of open workflows' calls that are looked at for repetition
constexpr size_t kMostHead = 4096;      // of a workflow's id or name; 64 of them may be open

std::string WorkflowHead::*head_member(std::string_view name) {
  if (name == "id") return &WorkflowHead::id;
  if (name == "workflowName") return &WorkflowHead::name;
  if (name == "status") return &WorkflowHead::status;
  if (name == "start") return &WorkflowHead::start;
  if (name == "end") return &WorkflowHead::end;
  return nullptr;
}

}  // namespace

Status MetadataWalk::run() {
  const Token first = reader_.next();
  if (first == Token::broken) return reader_.error();
  if (first != Token::object)
    return Error{Code::invalid, "this is no workflow metadata: a JSON object is expected", "",
                 "save GET /api/workflows/v1/ID/metadata"};
  if (!workflow() || reader_.next() != Token::end) return reader_.error();
  return ok();
}

void MetadataWalk::begin(Span& span) {
  if (span.there) visitor_.superseded(span.offset, span.workflows);
  span = {true, reader_.token_offset(), workflows_};
}

bool MetadataWalk::workflow() {
  ++workflows_;
  visitor_.workflow_begins();
  WorkflowHead head;
  const bool good = members(head);
  if (good) visitor_.workflow_ends(head);
  else visitor_.workflow_broke(head);
  return good;
}

bool MetadataWalk::members(WorkflowHead& head) {
  Span calls_span;
  for (;;) {
    const Token token = reader_.next();
    if (token == Token::end_object) return true;
    if (token != Token::key) return false;
    const bool is_calls = reader_.text() == "calls";
    std::string WorkflowHead::*const member = head_member(reader_.text());
    const Token value = reader_.next();
    if (is_calls && visitor_.is_superseded(reader_.token_offset())) {
      if (!reader_.skip(value)) return false;
    } else if (is_calls) {
      begin(calls_span);
      if (!calls(value)) return false;
      end(calls_span);
    } else if (!(member != nullptr ? read_text(reader_, value, head.*member) : reader_.skip(value))) {
      return false;
    } else if (member != nullptr && (head.*member).size() > kMostHead) {
      (head.*member).resize(kMostHead);
      (head.*member).shrink_to_fit();
    }
  }
}

// {"main.task": [call, …], …}
bool MetadataWalk::calls(Token first) {
  if (first != Token::object) {
    if (first != Token::null) visitor_.bad_call("", "calls is no object");
    return reader_.skip(first);
  }
  std::unordered_map<size_t, Span> names;  // by hash: a million names must not be held
  const size_t names_outside = names_;
  for (;;) {
    const Token token = reader_.next();
    if (token == Token::end_object) return names_ = names_outside, true;
    if (token != Token::key) return false;
    const std::string fqn(reader_.text());
    const Token value = reader_.next();
    if (visitor_.is_superseded(reader_.token_offset())) {
      if (!reader_.skip(value)) return false;
      continue;
    }
    Span none;
    Span& span = names_ < kMostNames ? names[std::hash<std::string>()(fqn)] : none;
    names_ = std::max(names_, names_outside + names.size());
    begin(span);
    if (!attempts(value, fqn)) return false;
    end(span);
  }
}

bool MetadataWalk::attempts(Token first, const std::string& fqn) {
  if (first != Token::array) {
    visitor_.bad_call(fqn, "its attempts are no list");
    return reader_.skip(first);
  }
  for (;;) {
    const Token token = reader_.next();
    if (token == Token::end_array) return true;
    if (token == Token::object) {
      if (!one_call(fqn)) return false;
    } else {
      visitor_.bad_call(fqn, "an attempt is no object");
      if (!reader_.skip(token)) return false;
    }
  }
}

Call& MetadataWalk::held_call() {
  if (level_ == held_.size()) held_.push_back(std::make_unique<Call>());
  held_[level_]->clear();
  return *held_[level_];
}

bool MetadataWalk::one_call(const std::string& fqn) {
  Span sub_span;
  const auto enter = [&](Token first) { return sub_workflow(first, fqn, sub_span); };
  if (visitor_.wants_calls()) {
    Call& call = held_call();
    call.fqn = fqn;
    ++level_;
    const bool good = read_call(reader_, call, visitor_.wants_inputs(), enter);
    --level_;
    if (good) visitor_.call(call);
    return good;
  }
  for (;;) {
    const Token token = reader_.next();
    if (token == Token::end_object) return true;
    if (token != Token::key) return false;
    const bool is_sub = reader_.text() == "subWorkflowMetadata";
    const Token value = reader_.next();
    if (!(is_sub ? enter(value) : reader_.skip(value))) return false;
  }
}

bool MetadataWalk::sub_workflow(Token first, const std::string& fqn, Span& before) {
  if (visitor_.is_superseded(reader_.token_offset()) || first != Token::object) return reader_.skip(first);
  if (nested_ == kMostNested) {
    visitor_.bad_call(fqn, "sub-workflows are nested deeper than " + std::to_string(kMostNested) +
                               " levels; this one is left out (upload it by its own id)");
    return reader_.skip(first);
  }
  begin(before);
  ++nested_;
  const bool good = workflow();
  --nested_;
  held_.resize(std::min(held_.size(), level_));  // what calls inside of it held
  if (!good) return false;
  end(before);
  return true;
}

}  // namespace tacho
