#include "cli/parse.h"

#include <algorithm>

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

class Parser {
 public:
  Parser(std::span<const std::string> arguments, unsigned subcommand, Words words)
      : arguments_(arguments), subcommand_(subcommand), words_(words) {}

  Result<ParsedLine> parse() {
    while (at_ < arguments_.size() && !line_.help && !line_.version) {
      const std::string& token = arguments_[at_];
      if (token == "--") {
        line_.dashes = true;
        ++at_;
        take_rest();
      } else if (token.size() < 2 || token[0] != '-') {
        if (words_ == Words::command) {
          take_rest();
        } else {
          line_.words.push_back(token);
          ++at_;
        }
      } else if (const Status status = token[1] == '-' ? long_option(token) : short_options(token); !status) {
        return status.error();
      }
    }
    return std::move(line_);
  }

 private:
  void take_rest() {
    line_.words.insert(line_.words.end(), arguments_.begin() + static_cast<std::ptrdiff_t>(at_), arguments_.end());
    at_ = arguments_.size();
  }

  Status long_option(const std::string& token) {
    const size_t equals = token.find('=');
    const Option* option = find_option(std::string_view(token).substr(0, equals).substr(2), subcommand_);
    if (option == nullptr) return unknown_option(token, subcommand_);
    ++at_;
    const std::string origin = "--" + std::string(option->name);
    if (equals != std::string::npos) return add(*option, token.substr(equals + 1), origin);
    if (option->kind == Kind::flag) return add(*option, "true", origin);
    return add_next(*option, origin);
  }

  // -q, -i0.5, -i=0.5, -i 0.5, -qi0.5
  Status short_options(const std::string& token) {
    ++at_;
    for (size_t i = 1; i < token.size(); ++i) {
      const Option* option = find_short_option(token[i], subcommand_);
      const std::string origin{'-', token[i]};
      if (option == nullptr) return unknown_option(origin, subcommand_);
      if (option->kind == Kind::flag) {
        if (const Status status = add(*option, "true", origin); !status) return status;
        continue;
      }
      std::string_view attached = std::string_view(token).substr(i + 1);
      if (attached.empty()) return add_next(*option, origin);
      if (attached.starts_with('=')) attached.remove_prefix(1);
      return add(*option, std::string(attached), origin);
    }
    return ok();
  }

  Status add_next(const Option& option, const std::string& origin) {
    // "--output --quiet" is a forgotten value, not a file named --quiet.
    const std::string_view next = at_ < arguments_.size() ? std::string_view(arguments_[at_]) : "--";
    if (next == "--" || (next.starts_with("--") && find_option(next.substr(2), subcommand_) != nullptr))
      return Error{Code::invalid, "option " + origin + " needs a value", "",
                   "write --" + std::string(option.name) + "=" + std::string(option.metavar)};
    return add(option, arguments_[at_++], origin);
  }

  Status add(const Option& option, std::string value, std::string origin) {
    if (option.name == "help") line_.help = true;
    if (option.name == "version") line_.version = true;
    line_.given.push_back({&option, std::move(value), std::move(origin)});
    return ok();
  }

  std::span<const std::string> arguments_;
  unsigned subcommand_;
  Words words_;
  size_t at_ = 0;
  ParsedLine line_;
};

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
  return Parser(arguments, subcommand, words).parse();
}

}  // namespace tacho
