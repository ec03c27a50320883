#include "katib/collect/go_flags.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/flags.h"
#include "base/text.h"

namespace tacho {
namespace {

// Longer names first: "ms" is no "m". The micro sign and the Greek letter are both in use.
constexpr std::array<std::pair<std::string_view, double>, 8> kGoUnits{
    {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

Error unknown(std::string_view name, std::span<const GoFlag> known) {
  std::vector<std::string_view> names;
  for (const GoFlag& flag : known) names.push_back(flag.name);
  const std::string_view near = nearest(name, names);
  return Error{Code::invalid, "unknown flag", std::string("-").append(name),
               near.empty() ? "see tacho-katib collect -help" : std::string("did you mean -").append(near) + "?"};
}

// "1.5", ".5", "2.": digits with at most one point, as Go has them; −1 when there is none at `at`.
double leading_number(std::string_view text, size_t& at) {
  const size_t start = at;
  size_t digits = 0;
  bool point = false;
  for (; at < text.size() && (text[at] == '.' ? !point : text[at] >= '0' && text[at] <= '9'); ++at)
    text[at] == '.' ? static_cast<void>(point = true) : static_cast<void>(++digits);
  if (digits == 0) return -1;
  std::string number("0");
  number += text.substr(start, at - start);
  if (number.back() == '.') number += '0';
  return parse_double(number).value_or(-1);
}

}  // namespace

Result<GivenFlags> parse_go_flags(std::span<const std::string> arguments, std::span<const GoFlag> known) {
  GivenFlags out;
  std::vector<Flag> flags;
  for (const GoFlag& flag : known) flags.push_back({flag.name, flag.is_switch ? Flag::Kind::yes_no : Flag::Kind::text});
  FlagRules rules;
  rules.dashes = FlagRules::Dashes::end;
  rules.one_dash = rules.switch_takes_word = true;
  for (FlagReader reader(arguments, flags, rules); reader.next();) {
    if (reader->kind == FlagWord::Kind::flag) {
      out.flags.push_back({std::string(reader->flag->name), reader->value});
      continue;
    }
    if (reader->kind == FlagWord::Kind::word)
      return Error{Code::invalid, "this word belongs to no flag", std::string(reader->word),
                   "every setting is a flag; see tacho-katib collect -help"};
    const std::string name = reader->name.substr(reader->name.starts_with("--") ? 2 : 1);
    if (reader->kind == FlagWord::Kind::no_value) return Error{Code::invalid, "flag needs a value", "-" + name, ""};
    if (name.empty() || name[0] == '-') return Error{Code::invalid, "bad flag syntax", std::string(reader->word), ""};
    if (name != "h" && name != "help") return unknown(name, known);
    out.help = true;
  }
  return out;
}

std::optional<int64_t> parse_go_duration_ns(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double total_ns = 0;
  if (const auto seconds = parse_int<int64_t>(text)) {
    if (text[0] == '-') return std::nullopt;  // a second sign
    total_ns = static_cast<double>(*seconds) * 1e9;
  } else {
    for (size_t at = 0; at < text.size();) {
      const double number = leading_number(text, at);
      if (number < 0) return std::nullopt;
      const auto unit = std::find_if(kGoUnits.begin(), kGoUnits.end(), [&](const auto& known) {
        if (!text.substr(at).starts_with(known.first)) return false;
        const size_t after = at + known.first.size();
        return after == text.size() || text[after] == '.' || (text[after] >= '0' && text[after] <= '9');
      });
      if (unit == kGoUnits.end()) return std::nullopt;
      at += unit->first.size();
      total_ns += number * unit->second;
    }
  }
  if (total_ns >= 9.2e18) return std::nullopt;  // Go's Duration is an int64 as well
  const int64_t ns = std::llround(total_ns);
  return negative ? -ns : ns;
}

bool parse_go_bool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "TRUE", "true", "True"};
  return std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end();
}

}  // namespace tacho
