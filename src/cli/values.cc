// Values of options that only one subcommand reads; those of a recording go through setters.cc.
#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"

namespace tacho {
namespace {

Error bad_value(std::string_view option, const std::string& value, std::string hint) {
  return {Code::invalid, "--" + std::string(option) + ": this makes no sense", value, std::move(hint)};
}

}  // namespace

std::vector<std::string> values_of(const ParsedLine& line, std::string_view option) {
  std::vector<std::string> values;
  for (const Given& given : line.given)
    if (given.option->name == option) values.push_back(given.value);
  return values;
}

std::optional<std::string> value_of(const ParsedLine& line, std::string_view option) {
  std::vector<std::string> values = values_of(line, option);
  return values.empty() ? std::nullopt : std::optional(std::move(values.back()));
}

Result<std::optional<int64_t>> number_of(const ParsedLine& line, std::string_view option, int64_t least) {
  const auto text = value_of(line, option);
  if (!text) return std::optional<int64_t>();
  const auto number = parse_int<int64_t>(*text);
  if (!number || *number < least)
    return bad_value(option, *text, "a whole number from " + std::to_string(least) + " on");
  return number;
}

Result<std::optional<int64_t>> duration_of(const ParsedLine& line, std::string_view option) {
  const auto text = value_of(line, option);
  if (!text) return std::optional<int64_t>();
  const auto ns = parse_duration_ns(*text);
  if (!ns) return bad_value(option, *text, "a duration such as 90m, 12h or 30d");
  return std::optional<int64_t>(*ns);
}

Result<std::optional<std::string>> word_of(const ParsedLine& line, std::string_view option) {
  const auto text = value_of(line, option);
  if (!text) return std::optional<std::string>();
  std::string all;
  for (const Given& given : line.given) {
    if (given.option->name != option) continue;
    for (const std::string_view word : choices(*given.option)) {
      if (word == *text) return text;
      if (all.find(word) == std::string::npos) (all += all.empty() ? "" : ", ") += word;
    }
  }
  return bad_value(option, *text, "one of " + all);
}

}  // namespace tacho
