// The body of the finish call (sentinel.md §2.3), made from the spool. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "deliver/records.h"
#include "spool/reader.h"

namespace tacho {

// Run status, exit code and end as recorded; for a tacho that was killed: failed, no exit code, the time of the last
// row.
Json finish_body(const SpoolMeta& meta, std::string_view last_row);
void add_uris(Json& body, const SpoolState& state);

int64_t count_rows(const std::vector<Segment>& segments);
int64_t count_bytes(const std::vector<Segment>& segments);
// The first line in the segments, without its end; empty when there is none.
std::string header_of(const SpoolRun& run, const std::vector<Segment>& segments);
// The last line of a CSV, without its end; empty when there is none but the header.
std::string last_row_of(const SpoolRun& run, const std::vector<Segment>& segments);

}  // namespace tacho
