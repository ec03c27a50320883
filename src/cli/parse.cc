#include "cli/parse.h"

#include <algorithm>

#include "base/flags.h"
#include "base/text.h"

namespace tacho {
namespace {

// Options that people look for and that go by another way.
struct Meant {
  unsigned subcommand;
  std::string_view option, hint;
};
constexpr Meant kMeant[] = {
    {kAttach, "--name", "a process is named by its number: tacho attach --pid PID; pgrep NAME lists them"},
    {kAttach, "--command", "to start one: tacho run -- CMD; a process is named by its number: tacho attach --pid PID"},
};

Error unknown_option(std::string_view token, unsigned subcommand) {
  const std::string_view name = token.substr(0, token.find('='));
  for (const Meant& meant : kMeant)
    if ((meant.subcommand & subcommand) != 0 && meant.option == name)
      return {Code::invalid, "unknown option " + std::string(name), "", std::string(meant.hint)};
  std::vector<std::string> labels;
  for (const Option& option : all_options())
    if ((option.subcommands & subcommand) != 0) labels.push_back("--" + std::string(option.name));
  const std::vector<std::string_view> candidates(labels.begin(), labels.end());
  return unknown_word("option", name, name.starts_with("--") ? candidates : std::span<const std::string_view>{},
                      "--help lists all options");
}

// The options of a subcommand, as the reader of command lines wants them.
struct SubcommandFlags {
  explicit SubcommandFlags(unsigned subcommand) {
    for (const Option& option : all_options()) {
      if ((option.subcommands & subcommand) == 0) continue;
      flags.push_back({option.name, option.kind == Kind::flag ? Flag::Kind::yes_no : Flag::Kind::text,
                       option.short_name, option.metavar, option.help});
      options.push_back(&option);
    }
  }
  const Option& option(const Flag* flag) const { return *options[static_cast<size_t>(flag - flags.data())]; }

  std::vector<Flag> flags;
  std::vector<const Option*> options;  // at the same place
};

Error forgotten_value(const Option& option, const std::string& origin) {
  return {Code::invalid, "option " + origin + " needs a value", "",
          "write --" + std::string(option.name) + "=" + std::string(option.metavar)};
}

}  // namespace

Error unknown_word(std::string_view kind, std::string_view word, std::span<const std::string_view> candidates,
                   std::string_view hint) {
  std::string text = "unknown " + std::string(kind) + " " + std::string(word);
  const std::string_view near = nearest(word, candidates);
  if (near.empty() && !candidates.empty() && (kind == "option" || kind == "key")) {
    // Nothing like it: the nearest name is no guess of what was meant, only a place to start from.
    const auto closer = [&](std::string_view a, std::string_view b) {
      return edit_distance(word, a) < edit_distance(word, b);
    };
    const std::string_view least = *std::min_element(candidates.begin(), candidates.end(), closer);
    return {Code::invalid, std::move(text), "", "nearest: " + std::string(least) + "; " + std::string(hint)};
  }
  if (near.empty()) return {Code::invalid, std::move(text), "", std::string(hint)};
  return {Code::invalid, text + "; did you mean " + std::string(near) + "?", "", ""};
}

Result<ParsedLine> parse_arguments(std::span<const std::string> arguments, unsigned subcommand, Words words) {
  FlagRules rules;
  rules.dashes = FlagRules::Dashes::words;
  rules.first_word_ends = words == Words::command;
  rules.clusters = rules.known_is_no_value = true;
  rules.comment_is_word = subcommand == kQuery;
  const SubcommandFlags known(subcommand);
  ParsedLine line;
  FlagReader reader(arguments, known.flags, rules);
  while (((!line.help && !line.version) || reader.in_cluster()) && reader.next()) {
    if (reader->kind == FlagWord::Kind::unknown) return unknown_option(reader->name, subcommand);
    if (reader->kind == FlagWord::Kind::word) {
      line.words.emplace_back(reader->word);
      continue;
    }
    const Option& option = known.option(reader->flag);
    if (reader->kind == FlagWord::Kind::no_value) return forgotten_value(option, reader->name);
    line.help = line.help || option.name == "help";
    line.version = line.version || option.name == "version";
    line.given.push_back({&option, reader->value, reader->name});
  }
  line.dashes = reader.dashes();
  return line;
}

}  // namespace tacho
