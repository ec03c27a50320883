// The machine's identity, for rows and insertIds: what flags and environment say, else the metadata server, else what
// the machine says of itself, else the placeholder of a REQUIRED column (cromwell-bigquery.md §1.1). Not thread-safe.
#pragma once
#include <set>
#include <string>

#include "deliver/bq_meta.h"
#include "net/google/gce_metadata.h"

namespace tacho {

struct BqIdentity {
  Json values = Json::object();   // project_id zone instance_id instance_name preemptible cpu_platform machine_type, as
                                  // given or told
  std::set<std::string> settled;  // those, and what the server has said it does not have
  std::string open;               // the first value that the server may still tell later; empty: all are settled
  bool preemptible_known = false;
};

// Asks the server only for values that were not given or settled before: a non-answer ("later", a broken connection)
// settles nothing. If `ask` is false, nobody is asked.
void find_bq_identity(const BqMeta& meta, GceMetadata& server, bool ask, BqIdentity& identity);
// Completed with what the machine says of itself.
Json with_fallback(const BqMeta& meta, Json values);
// Whether the rows were made on this machine since it booted: the metadata server then describes the same instance.
bool is_same_machine(const BqMeta& meta);

// "-9007199254740993" of a number or text: as insertIds have it; "0" when unknown.
std::string instance_id_of(const Json& identity);

}  // namespace tacho
