#include "deliver/bq_identity.h"

#include <array>

#include "base/path.h"
#include "base/text.h"
#include "os/file.h"

namespace tacho {
namespace {

enum class Form { text, first_label, last_part, number, flag };

struct Value {
  const char* name;
  const char* path;
  Form form;
};
constexpr auto kValues = std::to_array<Value>({
    {"project_id", "project/project-id", Form::text},
    {"zone", "instance/zone", Form::last_part},
    {"instance_id", "instance/id", Form::number},
    {"instance_name", "instance/hostname", Form::first_label},
    {"preemptible", "instance/scheduling/preemptible", Form::flag},
    {"cpu_platform", "instance/cpu-platform", Form::text},
    {"machine_type", "instance/machine-type", Form::last_part},
});

// Null when the text is not what it should be.
Json value_of(Form form, const std::string& text) {
  switch (form) {
    case Form::text: return valid_utf8(text);
    case Form::first_label: return valid_utf8(text.substr(0, text.find('.')));
    case Form::last_part: return valid_utf8(last_part(text));
    case Form::number: {
      // An id is unsigned there and signed in BigQuery; the same 64 bits, as the original tool has them.
      if (const auto number = parse_int<int64_t>(text)) return *number;
      const auto large = parse_int<uint64_t>(text);
      return large ? Json(static_cast<int64_t>(*large)) : Json();
    }
    case Form::flag: return lower(text) == "true" ? Json(true) : lower(text) == "false" ? Json(false) : Json();
  }
  return {};
}

bool is_known(const Json& object, const char* name) { return object.contains(name) && !object[name].is_null(); }

}  // namespace

void find_bq_identity(const BqMeta& meta, GceMetadata& server, bool ask, BqIdentity& identity) {
  identity.open.clear();
  for (const Value& value : kValues) {
    if (identity.settled.contains(value.name)) continue;
    Json found;
    if (is_known(meta.given, value.name)) {
      found = meta.given[value.name];
    } else if (ask) {
      const auto text = server.get(value.path);
      const bool is_final = text || text.error().code == Code::not_available;
      if (!is_final) {
        if (identity.open.empty()) identity.open = value.name;
        continue;
      }
      if (text) found = value_of(value.form, *text);
    }
    identity.settled.insert(value.name);
    if (!found.is_null() && value.form == Form::flag) identity.preemptible_known = true;
    if (!found.is_null()) identity.values[value.name] = std::move(found);
  }
}

Json with_fallback(const BqMeta& meta, Json values) {
  for (const Value& value : kValues)
    if (!values.contains(value.name) && is_known(meta.fallback, value.name))
      values[value.name] = meta.fallback[value.name];
  return values;
}

bool is_same_machine(const BqMeta& meta) {
  return meta.boot_id.empty() ||
         meta.boot_id == read_first_line(Roots::from_environment().proc + "/sys/kernel/random/boot_id");
}

std::string instance_id_of(const Json& identity) {
  const std::string text = text_of(identity, "instance_id");
  return text.empty() ? "0" : text;
}

}  // namespace tacho
