// One call attempt out of the metadata's stream. Members may come in any order and twice (the last one counts); unknown
// ones are skipped. Not thread-safe.
#pragma once
#include <functional>
#include <string>

#include "cromwell/call.h"
#include "cromwell/json_reader.h"

namespace tacho {

// {"shardIndex":-1,"attempt":1,"executionStatus":"Done","jes":{…},"runtimeAttributes":{…},"inputs":{…},…}: the object
// whose first token was just read. `sub_workflow` is called after the first token of subWorkflowMetadata, reads it to
// its end and returns false when the document is broken. Without `with_inputs` inputs are skipped. False when the
// document is broken.
bool read_call(JsonReader& reader, Call& call, bool with_inputs,
               const std::function<bool(JsonReader::Token)>& sub_workflow);

// Any scalar as its text, a list's elements joined by commas; empty for null and objects. False when the document is
// broken.
bool read_text(JsonReader& reader, JsonReader::Token first, std::string& text);

}  // namespace tacho
