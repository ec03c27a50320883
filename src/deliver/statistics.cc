#include "deliver/statistics.h"

#include "os/owned_folder.h"

namespace tacho {

void record_delivery(const SpoolMeta& meta, const SpoolState& state, const Processing& processing, int64_t rows) {
  if (meta.store_folder.empty()) return;
  // The spool may have been copied from elsewhere: only this very run of our own is written to.
  const auto folder = OwnedFolder::open(meta.store_folder);
  const auto text = folder ? folder->read("run.json") : Result<std::string>(folder.error());
  if (!text) return;
  Json run = parse_json(*text);
  if (!run.is_object() || meta.run.empty() || text_of(run, "id") != meta.run) return;
  Json delivery;
  delivery["to"] = meta.bucket_uri.empty() ? meta.api_url : meta.bucket_uri;
  delivery["run_id"] = state.run_id;
  delivery["rows"] = rows;
  delivery["objects"] = state.uploaded.size();
  if (processing.answer.is_object()) delivery.update(processing.answer);
  if (!run.contains("delivery") || !run["delivery"].is_array()) run["delivery"] = Json::array();
  run["delivery"].push_back(std::move(delivery));
  static_cast<void>(
      folder->write_atomically("run.json", run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", false));
}

}  // namespace tacho
