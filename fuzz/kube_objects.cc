// What the Kubernetes API and its users send: lists, conditions, Status answers, kubeconfigs. The first line is a GJSON
// path.
#include "kube/api/access.h"
#include "kube/api/api_client.h"
#include "kube/trials/conditions.h"
#include "kube/trials/gjson.h"
#include "kube/trials/go_number.h"

#include <nlohmann/json.hpp>

#include "target.h"

void fuzz_one(std::string_view text) {
  size_t items = 0;
  tacho::split_list(text, [&](std::string_view item) {
    require(!item.empty() && is_inside(item, text));
    ++items;
  });
  require(items <= text.size());
  require(tacho::json_value_length(text) <= text.size());
  tacho::ApiAnswer answer;
  tacho::read_status(text, answer);
  tacho::parse_go_float(text);
  (void)tacho::parse_kubeconfig(std::string(text), "/nonexistent");

  const size_t line = text.find('\n');
  const std::string_view path = text.substr(0, line);
  const std::optional<tacho::Json> object =
      tacho::parse_json(line == std::string_view::npos ? text : text.substr(line + 1));
  if (!object) return;
  tacho::gjson_get(*object, path);
  tacho::match_condition(*object, path);
  tacho::Json trial = *object;
  tacho::job_status(trial, *object);
  tacho::set_observation(trial, {{"m", "1", "2", "3"}});
  tacho::mark_ended(trial, {tacho::JobState::succeeded, "", ""}, "", "now");
  require(tacho::is_complete(trial));
}
