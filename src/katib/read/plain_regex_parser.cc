#include "katib/read/plain_regex_parser.h"

#include <algorithm>

#include "katib/read/regex_class.h"

namespace tacho {
namespace {

constexpr size_t kMostSteps = 1000;
constexpr int kDeepestGroup = 32, kMostCopies = 32;

// \d \w \s and their opposites; nothing for another letter.
std::optional<std::array<bool, 128>> perl_class(char c) {
  std::array<bool, 128> out{};
  const char kind = static_cast<char>(c | 0x20);
  if (kind != 'd' && kind != 'w' && kind != 's') return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) {
    const char letter = static_cast<char>(i);
    out[i] = (kind == 'd' ? is_digit(letter) : kind == 'w' ? is_word(letter) : is_space(letter)) == (c == kind);
  }
  return out;
}

// What a backslash makes of a letter: itself for punctuation, a control character for some; −1 for what is not known
// here.
int plain_escape(char c) {
  switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return '\a';
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte < 0x7f && !is_word(c) ? byte : -1;
}

}  // namespace

int PlainParser::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

int PlainParser::letter(unsigned char c) {
  if (c >= 128) return fail();
  Node node{Node::Kind::letters, {}, {}, 0, 0, true, 0, false};
  node.letters[c] = true;
  return add(node);
}

bool PlainParser::compile(PlainRegex& out) {
  const int root = choice();
  if (!good_ || at_ != text_.size() || groups_ < 2 || nodes_[static_cast<size_t>(root)].may_be_empty) return false;
  program_ = &out.program_;
  emit(root);
  put({Step::Kind::match, 0, 0, 0, {}});
  return good_;
}

int PlainParser::choice() {
  if (++depth_ > kDeepestGroup) return fail();
  Node node{Node::Kind::choice, {}, {}, 0, 0, true, 0, false};
  for (bool more = true; more && good_;) {
    node.parts.push_back(sequence());
    if (!good_) return 0;
    node.may_be_empty = node.may_be_empty || nodes_[static_cast<size_t>(node.parts.back())].may_be_empty;
    more = at('|');
    if (more) ++at_;
  }
  --depth_;
  if (node.parts.size() == 1) return node.parts[0];
  return add(std::move(node));
}

int PlainParser::sequence() {
  Node node{Node::Kind::sequence, {}, {}, 0, 0, true, 0, true};
  while (good_ && at_ < text_.size() && !at('|') && !at(')')) {
    node.parts.push_back(repeated());
    if (good_) node.may_be_empty = node.may_be_empty && nodes_[static_cast<size_t>(node.parts.back())].may_be_empty;
  }
  return good_ ? add(std::move(node)) : 0;
}

// {n}, {n,} or {n,m}; what only looks like it is text.
std::optional<std::pair<int, int>> PlainParser::counts() {
  size_t at = at_ + 1;
  const auto number = [&]() -> int {
    int value = 0;
    const size_t begin = at;
    for (; at < text_.size() && is_digit(text_[at]); ++at) value = std::min(value * 10 + (text_[at] - '0'), 100'000);
    return at == begin ? -1 : value;
  };
  const int least = number();
  if (least < 0) return std::nullopt;
  int most = least;
  if (at < text_.size() && text_[at] == ',') {
    ++at;
    most = at < text_.size() && text_[at] == '}' ? -1 : number();
    if (most < 0 && !(at < text_.size() && text_[at] == '}')) return std::nullopt;
  }
  if (at >= text_.size() || text_[at] != '}') return std::nullopt;
  at_ = at + 1;
  return std::pair(least, most);
}

int PlainParser::repeated() {
  int inner = atom();
  for (bool first = true; good_ && at_ < text_.size(); first = false) {
    Node node{Node::Kind::repeat, {}, {inner}, 0, 0, true, 0, true};
    const char c = text_[at_];
    if (c == '*') node.most = -1, ++at_;
    else if (c == '+') node.least = 1, node.most = -1, ++at_;
    else if (c == '?') node.most = 1, ++at_;
    else if (c != '{') break;
    else if (const auto range = counts()) std::tie(node.least, node.most) = *range;
    else break;
    if (at('?')) node.greedy = false, ++at_;
    const bool empty = nodes_[static_cast<size_t>(inner)].may_be_empty;
    if (!first || empty || node.least > kMostCopies || node.most > kMostCopies) return fail();
    node.may_be_empty = node.least == 0;
    inner = add(std::move(node));
  }
  return inner;
}

int PlainParser::atom() {
  const char c = text_[at_];
  switch (c) {
    case '(': return group();
    case '[': return bracket();
    case '^':
    case '$':
    case '*':
    case '+':
    case '?': return fail();
    case '.': {
      ++at_;
      Node node{Node::Kind::letters, {}, {}, 0, 0, true, 0, false};
      node.letters.fill(true);
      node.letters['\n'] = false;
      return add(node);
    }
    case '\\': {
      Node node{Node::Kind::letters, {}, {}, 0, 0, true, 0, false};
      ++at_;
      return escape(node.letters) ? add(node) : fail();
    }
    default: ++at_; return letter(static_cast<unsigned char>(c));
  }
}

bool PlainParser::escape(Letters& out) {
  if (at_ >= text_.size()) return false;
  const char c = text_[at_++];
  if (const auto known = perl_class(c)) {
    for (unsigned i = 0; i < 128; ++i) out[i] = out[i] || (*known)[i];
    return true;
  }
  const int plain = plain_escape(c);
  if (plain < 0) return false;
  out[static_cast<size_t>(plain)] = true;
  return true;
}

int PlainParser::group() {
  ++at_;
  Node node{Node::Kind::group, {}, {}, 0, 0, true, 0, true};
  if (at('?')) {
    if (text_.substr(at_).starts_with("?:")) {
      at_ += 2;
      node.number = -1;
    } else if (text_.substr(at_).starts_with("?P<") && text_.find('>', at_) != text_.npos) {
      at_ = text_.find('>', at_) + 1;
    } else {
      return fail();
    }
  }
  if (node.number == 0) node.number = ++groups_;
  node.parts.push_back(choice());
  if (!good_ || !at(')')) return fail();
  ++at_;
  node.may_be_empty = nodes_[static_cast<size_t>(node.parts[0])].may_be_empty;
  return add(std::move(node));
}

std::optional<int> PlainParser::class_letter() {
  if (at_ >= text_.size()) return std::nullopt;
  const char c = text_[at_++];
  if (c != '\\') return static_cast<unsigned char>(c) < 128 ? std::optional<int>(c) : std::nullopt;
  if (at_ >= text_.size()) return std::nullopt;
  const int plain = plain_escape(text_[at_++]);
  return plain < 0 ? std::nullopt : std::optional(plain);
}

int PlainParser::bracket() {
  ++at_;
  Node node{Node::Kind::letters, {}, {}, 0, 0, true, 0, false};
  const bool other = at('^');
  if (other) ++at_;
  for (bool first = true; first || !at(']'); first = false) {
    if (at_ >= text_.size() || text_.substr(at_).starts_with("[:")) return fail();
    if (at('\\') && at_ + 1 < text_.size() && perl_class(text_[at_ + 1])) {
      ++at_;
      if (!escape(node.letters)) return fail();
      continue;
    }
    const auto low = class_letter();
    if (!low) return fail();
    int high = *low;
    if (at('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      ++at_;
      const auto end = class_letter();
      if (!end || *end < *low) return fail();
      high = *end;
    }
    for (int i = *low; i <= high; ++i) node.letters[static_cast<size_t>(i)] = true;
  }
  ++at_;
  if (other)
    for (bool& taken : node.letters) taken = !taken;
  return add(node);
}

int32_t PlainParser::put(Step step) {
  if (program_->size() >= kMostSteps) return fail();
  program_->push_back(step);
  program_->back().next = static_cast<int32_t>(program_->size());  // the one behind it, unless told otherwise
  return static_cast<int32_t>(program_->size()) - 1;
}

void PlainParser::emit(int number) {
  if (!good_) return;
  const Node& node = nodes_[static_cast<size_t>(number)];
  const auto here = [&] { return static_cast<int32_t>(program_->size()); };
  const auto link = [&](int32_t split, bool to_body, int32_t target) {
    if (good_)
      (node.greedy == to_body ? (*program_)[static_cast<size_t>(split)].next
                              : (*program_)[static_cast<size_t>(split)].other) = target;
  };
  switch (node.kind) {
    case Node::Kind::empty: break;
    case Node::Kind::letters: put({Step::Kind::letter, 0, 0, 0, node.letters}); break;
    case Node::Kind::sequence:
      for (const int part : node.parts) emit(part);
      break;
    case Node::Kind::group: {
      const bool kept = node.number == 1 || node.number == 2;
      if (kept) put({Step::Kind::save, static_cast<uint8_t>(node.number * 2 - 1), 0, 0, {}});
      emit(node.parts[0]);
      if (kept) put({Step::Kind::save, static_cast<uint8_t>(node.number * 2), 0, 0, {}});
      break;
    }
    case Node::Kind::choice: {
      std::vector<int32_t> jumps;
      for (size_t i = 0; i < node.parts.size() && good_; ++i) {
        const bool last = i + 1 == node.parts.size();
        const int32_t split = last ? 0 : put({Step::Kind::split, 0, 0, 0, {}});
        emit(node.parts[i]);
        if (last) break;
        jumps.push_back(put({Step::Kind::jump, 0, 0, 0, {}}));
        if (good_) (*program_)[static_cast<size_t>(split)].other = here();
      }
      for (const int32_t jump : jumps)
        if (good_) (*program_)[static_cast<size_t>(jump)].next = here();
      break;
    }
    case Node::Kind::repeat: {
      const int body = node.parts[0];
      for (int i = 0; i < node.least; ++i) emit(body);
      if (node.most < 0) {
        const int32_t split = put({Step::Kind::split, 0, 0, 0, {}});
        link(split, true, here());
        emit(body);
        const int32_t jump = put({Step::Kind::jump, 0, 0, 0, {}});
        if (good_) (*program_)[static_cast<size_t>(jump)].next = split;
        link(split, false, here());
        break;
      }
      std::vector<int32_t> splits;
      for (int i = node.least; i < node.most && good_; ++i) {
        splits.push_back(put({Step::Kind::split, 0, 0, 0, {}}));
        link(splits.back(), true, here());
        emit(body);
      }
      for (const int32_t split : splits) link(split, false, here());
      break;
    }
  }
}

}  // namespace tacho
