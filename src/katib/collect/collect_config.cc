// The collector's configuration file. toml++ is header-only and compiled slowly, so only this file includes it here.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/toml.h"
#include "katib/collect/collect_options.h"

namespace tacho {
namespace {

std::string_view flag_of(std::string_view key) {
  std::string dashes(key);
  std::replace(dashes.begin(), dashes.end(), '_', '-');
  for (const CollectFlag& flag : collect_flags())
    if (flag.name == dashes || (!flag.alias.empty() && flag.alias == key)) return flag.name;
  return {};
}

// A scalar as a flag would spell it; nothing for a date or a table.
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) {
    char digits[64];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, real->get());
    return std::string(digits, end);
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<GivenFlag>> read_collect_config(std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  const auto at = [&](uint32_t line) { return path + ":" + std::to_string(line) + ": "; };
  if (!parsed)
    return Error{
        Code::invalid,
        at(parsed.error().source().begin.line) + "not valid TOML: " + std::string(parsed.error().description()), "",
        ""};
  std::vector<GivenFlag> out;
  for (const auto& [key, node] : parsed.table()) {
    const std::string_view name = flag_of(key.str());
    const std::string where = at(key.source().begin.line) + std::string(key.str());
    if (name.empty() || name == "config" || name == "ready") {
      std::vector<std::string_view> names;
      for (const CollectFlag& flag : collect_flags()) names.push_back(flag.name);
      const std::string_view near = nearest(key.str(), names);
      return Error{Code::invalid, where + ": unknown key", "",
                   near.empty() ? "keys are the flags' names; see tacho-katib collect -help"
                                : std::string("did you mean ") + std::string(near) + "?"};
    }
    const auto add = [&](const toml::node& value) {
      const auto spelled = scalar(value);
      if (spelled) out.push_back({std::string(name), *spelled});
      return spelled.has_value();
    };
    bool fits = true;
    if (const auto* array = node.as_array())
      for (const toml::node& item : *array) fits = fits && add(item);
    else fits = add(node);
    if (!fits) return Error{Code::invalid, where + ": expected a string, number, boolean, or an array of them", "", ""};
  }
  return out;
}

}  // namespace tacho
