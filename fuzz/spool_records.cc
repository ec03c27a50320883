// meta.json and state.json of a spooled run, which may come from a copy or a damaged disk, and what the service
// answers.
#include "deliver/answers.h"
#include "deliver/bq_meta.h"
#include "deliver/records.h"
#include "target.h"

using namespace tacho;

void fuzz_one(std::string_view text) {
  if (const auto meta = parse_meta(text)) require(meta->start.is_object());
  SpoolState state;
  if (auto known = parse_spool_state(text)) state = *known;
  const auto again = parse_spool_state(state_json(state));
  require(again && again->run_id == state.run_id && again->uploaded == state.uploaded &&
          again->finished == state.finished);
  (void)meta_with_state(text, state, {1, 2});
  (void)parse_bq_meta(text);
  if (const auto bq = parse_bq_state(text)) require(parse_bq_state(bq_state_json(*bq))->done == bq->done);
  std::vector<bool> rows(100);
  mark_rows(text, rows);
  Json body{{"job_name", "j"}, {"host_vcpus", 8}, {"tags", Json::object()}};
  Relaxed memory;
  for (int rounds = 0; relax(body, text, memory); ++rounds) require(rounds < 100);
  if (const Json object = parse_json(text); object.is_object()) (void)parse_credentials(object, 0, 0);
}
