// JSON as run.json has it, in place: what is taken is JSON for the other parser too, views stay inside of the text, and
// whatever it holds, a run can be made of it.
#include "base/json_view.h"

#include <nlohmann/json.hpp>

#include "report/store/run_reader.h"
#include "target.h"

namespace {

void go_down(const tacho::JsonView& view, std::string_view text) {
  require(is_inside(view.source(), text));
  view.number();
  view.integer();
  if (const auto string = view.string()) require(string->size() <= text.size());
  view.each_element([&](const tacho::JsonView& value) { go_down(value, text); });
  view.each_member([&](const tacho::JsonView& name, const tacho::JsonView& value) {
    require(static_cast<bool>(view[*name.string()]));
    go_down(value, text);
  });
}

}  // namespace

void fuzz_one(std::string_view text) {
  tacho::JsonText json;
  const bool taken = json.parse(text);
  try {
    require(!taken || !nlohmann::json::parse(text).is_discarded());
  } catch (const nlohmann::json::out_of_range&) {  // a number beyond a double
  } catch (const nlohmann::json::parse_error&) { require(!taken); }
  if (taken) go_down(json.root(), text);
  for (const tacho::Kept kept : {tacho::Kept::all, tacho::Kept::facts})
    require(!tacho::parse_run_json(std::string(text), kept) || taken);
}
