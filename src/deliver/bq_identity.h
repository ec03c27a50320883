// Who the machine is, for rows and insertIds: what flags and environment said, else the metadata server, else what the
// machine says of itself, else the placeholder of a REQUIRED column (cromwell-bigquery.md §1.1). Not thread-safe.
#pragma once
#include <string>

#include "deliver/bq_meta.h"
#include "net/gce_metadata.h"

namespace tacho {

struct BqIdentity {
  Json values;  // project_id zone instance_id instance_name preemptible cpu_platform machine_type, those that are known
  bool preemptible_known = false;
};

// Asks the server only for what was not given. Where `ask` is false nobody is asked.
BqIdentity find_bq_identity(const BqMeta& meta, GceMetadata& server, bool ask);
// Whether the rows were made on this machine since it was started: the metadata server then speaks of the same
// instance.
bool is_same_machine(const BqMeta& meta);

// "-9007199254740993" of a number or text: as insertIds have it; "0" when unknown.
std::string instance_id_of(const Json& identity);

}  // namespace tacho
