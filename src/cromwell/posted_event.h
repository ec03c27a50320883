// What a POST to the service means (cromwell-bigquery.md §3.2): storage events in the form of functions, CloudEvents in
// both modes, Pub/Sub push, bare objects, and Cromwell's own callback. Pure, thread-safe; never throws.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacho {

struct PostedEvent {
  enum class Kind {
    workflow,   // id is set: upload it
    ignored,    // nothing to do: another kind of event, an object that is no workflow log, a workflow that still runs
    malformed,  // no event at all
  };
  Kind kind = Kind::malformed;
  std::string id;                          // the workflow's
  std::string bucket, object, generation;  // of a storage event; may be empty
  bool metadata_update = false;
  std::string message_id;  // of Pub/Sub, for the log
  std::string why;         // of ignored and malformed, for the log
};

// Header names in lower case.
PostedEvent read_event(const std::vector<std::pair<std::string, std::string>>& headers, std::string_view body);

// ….5d96fd3c-1a89-40ae-8095-c364181cda46.…, else a UUID in the last part of the path; empty when there is none.
std::string workflow_id_in(std::string_view object_name);

}  // namespace tacho
