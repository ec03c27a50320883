// meta.json (written by the agent) and state.json (written here) of a spooled run as plain data. Thread-safe (no
// state).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/result.h"

namespace tacho {

using Json = nlohmann::ordered_json;

struct SpoolOutcome {
  std::string run_status;  // meta::kRunFinished or kRunFailed
  std::optional<int> exit_code;
  std::string finished_at;  // 2026-11-15T14:00:00Z
};

struct SpoolMeta {
  std::string run;  // the local id
  std::string api_url, bucket_uri, data_source, store_folder, header;
  std::optional<std::string> s3_endpoint;  // where the bucket was; absent: nobody wrote it down
  std::optional<std::string> bq_endpoint;  // which BigQuery it was, empty: Google's; absent: nobody wrote it down
  std::vector<std::string> hidden;
  std::string kind;  // where it goes (spool/contract.h); empty: it names no destination
  bool no_cloud = false, host_known = false;
  bool host_id_settled = false;  // TACHO_HOST_ID or TACHO_HOST_ID_VALUE was set for the run
  Json start;                    // body of the start call
  Json series;                   // of metrics: labels, resource and end (deliver/metric_meta.h)
  std::optional<SpoolOutcome> outcome;
};
Result<SpoolMeta> parse_meta(std::string_view text);  // errors: check_record()

struct SpoolState {
  std::string run_id;                        // the service's; empty: not registered
  std::string prefix;                        // s3://bucket/prefix; empty: rows go with the finish call
  std::map<uint32_t, std::string> uploaded;  // object URI by segment
  bool finished = false;                     // acknowledged: only the folder is left to be removed
};
Result<SpoolState> parse_spool_state(std::string_view text);
std::string state_json(const SpoolState& state);
// meta.json of a run that stays behind, with how far it got; empty when it cannot be read.
std::string meta_with_state(std::string_view meta, const SpoolState& state, const std::vector<uint32_t>& sealed);

// Whether this is a record of the spool that we can read; `name` is its file. invalid: damaged, or something else.
// denied: a newer tacho wrote it, which alone knows what it means; the run is then left alone.
template <class AnyJson>
Status check_record(const AnyJson& json, std::string_view name);

// A member that is a string or a number, as text; empty when absent.
std::string text_of(const Json& object, std::string_view key);
// For what was written here: a run of months has a long list of objects.
inline constexpr JsonBounds kOwnBounds{64u << 20, 64, 4'000'000};
// For JSON of others: long lists of servers and prices, but no more. Building an object that keeps its order takes time
// by the square of its members.
inline constexpr JsonBounds kAnswerBounds{16u << 20, 64, 100'000};
// Json of text; discarded (is_discarded()) when the text is no JSON, or beyond the bounds.
Json parse_json(std::string_view text, const JsonBounds& bounds = kAnswerBounds);

}  // namespace tacho
