#include "base/flags.h"

#include <algorithm>

#include "base/text.h"

namespace tacho {

bool FlagReader::next() {
  if (letter_at_ > 0) return cluster();
  if (at_ >= arguments_.size()) return false;
  const std::string_view word = arguments_[at_++];
  met_ = {};
  met_.word = word;
  met_.name = word.substr(0, word.find('='));
  const bool lone = word == "-" && !rules_.lone_dash_is_unknown;
  const bool comment = rules_.comment_is_word && word.starts_with("--") && word.find_first_of(" \t\n") == 2;
  if (only_words_ || lone || comment || !word.starts_with('-')) {
    only_words_ = only_words_ || rules_.first_word_ends;
    return meet(FlagWord::Kind::word);
  }
  if (word == "--" && rules_.dashes != FlagRules::Dashes::none) {
    only_words_ = dashes_ = true;
    if (rules_.dashes == FlagRules::Dashes::end) at_ = arguments_.size();
    return next();
  }
  if (rules_.clusters && word.size() > 1 && word[1] != '-') {
    letter_at_ = 1;
    return cluster();
  }
  return long_flag(word);
}

bool FlagReader::long_flag(std::string_view word) {
  const std::string_view name = met_.name;
  const bool two = name.starts_with("--");
  const Flag* flag = nullptr;
  if (two || rules_.one_dash) flag = find(name.substr(two ? 2 : 1));
  if (flag == nullptr && (rules_.one_dash || !two)) {
    const std::string_view letter = name.substr(two ? 2 : 1);
    if (letter.size() == 1) flag = find_letter(letter[0]);
  }
  if (flag == nullptr) return meet(FlagWord::Kind::unknown);
  if (name.size() < word.size()) {
    if (flag->kind == Flag::Kind::bare) return meet(FlagWord::Kind::stray_value, flag);
    return meet(FlagWord::Kind::flag, flag, word.substr(name.size() + 1));
  }
  return flag->kind == Flag::Kind::text ? take_next(*flag) : meet_switch(*flag);
}

// -q, -i0.5, -i=0.5, -i 0.5, -qi0.5
bool FlagReader::cluster() {
  const std::string_view word = met_.word;
  const char letter = word[letter_at_++];
  std::string_view rest = word.substr(letter_at_);
  const Flag* const flag = find_letter(letter);
  met_.name = {'-', letter};
  if (flag == nullptr || flag->kind == Flag::Kind::text || rest.empty()) letter_at_ = 0;
  if (flag == nullptr) return meet(FlagWord::Kind::unknown);
  if (flag->kind != Flag::Kind::text) return meet(FlagWord::Kind::flag, flag, "true");
  if (rest.empty()) return take_next(*flag);
  if (rest.starts_with('=')) rest.remove_prefix(1);
  return meet(FlagWord::Kind::flag, flag, rest);
}

bool FlagReader::meet(FlagWord::Kind kind, const Flag* flag, std::string_view value) {
  met_.kind = kind;
  met_.flag = flag;
  met_.value = value;
  return true;
}

bool FlagReader::meet_switch(const Flag& flag) {
  if (rules_.switch_takes_word && flag.kind == Flag::Kind::yes_no && at_ < arguments_.size() &&
      !arguments_[at_].starts_with('-'))
    return take_next(flag);
  return meet(FlagWord::Kind::flag, &flag, "true");
}

bool FlagReader::take_next(const Flag& flag) {
  if (at_ >= arguments_.size()) return meet(FlagWord::Kind::no_value, &flag);
  const std::string_view value = arguments_[at_];
  if (rules_.known_is_no_value && (value == "--" || (value.starts_with("--") && find(value.substr(2)) != nullptr)))
    return meet(FlagWord::Kind::no_value, &flag);
  ++at_;
  return meet(FlagWord::Kind::flag, &flag, value);
}

const Flag* FlagReader::find(std::string_view name) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == known_.end() ? nullptr : &*found;
}

const Flag* FlagReader::find_letter(char letter) const {
  const auto found =
      std::find_if(known_.begin(), known_.end(), [&](const Flag& flag) { return flag.letter == letter; });
  return found == known_.end() || letter == 0 ? nullptr : &*found;
}

std::string nearest_flag(std::string_view word, std::span<const Flag> known, std::string_view otherwise) {
  std::vector<std::string> names;
  for (const Flag& flag : known) names.push_back("--" + std::string(flag.name));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string(otherwise) : "did you mean " + std::string(near) + "?";
}

std::string flags_help(std::span<const Flag> flags, size_t column, size_t gap) {
  std::string help;
  for (const Flag& flag : flags) {
    std::string line = flag.letter == 0 ? "  --" : "  -" + std::string(1, flag.letter) + ", --";
    line += flag.name;
    if (!flag.value.empty()) line.append(" ").append(flag.value);
    line.resize(std::max(line.size() + gap, column), ' ');
    help.append(line).append(flag.help).append("\n");
  }
  return help;
}

}  // namespace tacho
