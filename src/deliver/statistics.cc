#include "deliver/statistics.h"

#include "os/file.h"

namespace tacho {

void record_delivery(const SpoolMeta& meta, const SpoolState& state, const Processing& processing, int64_t rows) {
  if (meta.store_folder.empty()) return;
  const std::string path = meta.store_folder + "/run.json";
  const auto text = read_whole_file(path);
  if (!text) return;
  Json run = parse_json(*text);
  if (!run.is_object()) return;
  Json delivery;
  delivery["to"] = meta.bucket_uri.empty() ? meta.api_url : meta.bucket_uri;
  delivery["run_id"] = state.run_id;
  delivery["rows"] = rows;
  delivery["objects"] = state.uploaded.size();
  if (processing.answer.is_object()) delivery.update(processing.answer);
  if (!run.contains("delivery") || !run["delivery"].is_array()) run["delivery"] = Json::array();
  run["delivery"].push_back(std::move(delivery));
  static_cast<void>(write_file_atomically(path, run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", false, 0600));
}

}  // namespace tacho
