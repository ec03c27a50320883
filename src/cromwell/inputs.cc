#include "cromwell/inputs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/writer.h"

namespace tacho {
namespace {

using Token = JsonReader::Token;

// The walk through one call's inputs.
class Flattener {
 public:
  Flattener(JsonReader& reader, Call& call)
      : reader_(reader), call_(call), begin_(reader.offset()), outer_depth_(reader.depth()) {}

  // Of the inputs themselves (their names stand as they are) or of a map (keys in brackets). Nothing is escaped, as in
  // existing rows.
  bool members(bool is_map) {
    const size_t outside = path_.size();
    std::unordered_map<size_t, std::pair<size_t, size_t>> seen;  // by hash: which inputs a member made
    for (;;) {
      const Token token = reader_.next();
      if (token == Token::end_object) return true;
      if (token != Token::key) return false;
      if (reader_.cut()) call_.inputs_cut = true;
      const size_t hash = std::hash<std::string_view>()(reader_.text());
      if (is_map) path_.append("[\"").append(reader_.text()).append("\"]");
      else path_ = reader_.text();
      const size_t from = call_.inputs.size();
      if (!value(reader_.next())) return false;
      if (!is_full()) note(seen[hash], {from, call_.inputs.size()});
      path_.resize(outside);
    }
  }

  // What of two members of the same name the first one made.
  void drop_superseded() {
    size_t at = 0;
    std::erase_if(call_.inputs, [&](const CallInput&) { return superseded_.contains(at++); });
  }

 private:
  bool elements() {
    const size_t outside = path_.size();
    for (size_t index = 0;; ++index) {
      const Token token = reader_.next();
      if (token == Token::end_array) return true;
      path_.append("[").append(std::to_string(index)).append("]");
      if (!value(token)) return false;
      path_.resize(outside);
    }
  }

  void note(std::pair<size_t, size_t>& before, std::pair<size_t, size_t> now) {
    for (size_t at = before.first; at < before.second; ++at) superseded_.insert(at);
    before = now;
  }

  // Of path_.
  bool value(Token token) {
    if (is_full() || reader_.depth() - outer_depth_ > kMostInputLevels) {
      call_.inputs_cut = true;
      return reader_.skip(token);
    }
    switch (token) {
      case Token::object: return members(true);
      case Token::array: return elements();
      case Token::null: return add(InputType::null, {});
      case Token::yes: return add(InputType::boolean, "true");
      case Token::no: return add(InputType::boolean, "false");
      case Token::number: return add(InputType::number, input_number(reader_.text()));
      case Token::string: break;
      default: return false;
    }
    const std::string_view text = reader_.text();
    if (is_gs_path(text) && !reader_.cut()) return add(InputType::file, text);
    const std::string_view kept = first_characters(text, kMostCharacters);
    if (kept.size() < text.size()) call_.inputs_cut = true;
    return add(InputType::string, kept);
  }

  bool is_full() const {
    return call_.inputs.size() >= kMostInputs || held_bytes_ + path_.size() > kMostInputBytes ||
           reader_.offset() - begin_ > kMostInputBytes;
  }

  bool add(InputType type, std::string_view text) {
    held_bytes_ += path_.size() + text.size() + sizeof(CallInput);
    call_.inputs.push_back({path_, type, std::string(text), std::nullopt});
    return true;
  }

  JsonReader& reader_;
  Call& call_;
  uint64_t begin_;
  int outer_depth_;
  std::string path_;
  size_t held_bytes_ = 0;
  std::unordered_set<size_t> superseded_;
};

bool is_integer(std::string_view text) { return text.find_first_of(".eE") == std::string_view::npos; }

}  // namespace

bool read_inputs(JsonReader& reader, Call& call) {
  call.inputs.clear();  // of two members of that name the last one counts
  call.inputs_cut = false;
  Flattener flattener(reader, call);
  const bool good = flattener.members(false);
  flattener.drop_superseded();
  return good;
}

std::string input_number(std::string_view json) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const auto number = parse_double(json);
  if (!number || (is_integer(json) && std::fabs(*number) > kExact)) return std::string(json);
  if (is_integer(json) && std::fabs(*number) == kExact && !json.ends_with("9007199254740992")) return std::string(json);
  std::array<char, 512> text;  // the largest double has 309 digits
  const auto fixed = std::to_chars(text.data(), text.data() + text.size(), *number, std::chars_format::fixed, 6);
  if (fixed.ec == std::errc{} && parse_double({text.data(), fixed.ptr}) == *number) return {text.data(), fixed.ptr};
  const auto shortest = std::to_chars(text.data(), text.data() + text.size(), *number);
  return {text.data(), shortest.ptr};
}

std::string input_gigabytes(int64_t bytes) {
  const std::string digits = std::to_string(bytes % 1'000'000'000);
  std::string decimals = std::string(9 - digits.size(), '0') + digits;
  if (decimals.ends_with("000")) decimals.resize(6);
  return std::to_string(bytes / 1'000'000'000) + "." + decimals;
}

bool is_gs_path(std::string_view text) {
  constexpr std::string_view kScheme = "gs://";
  if (!text.starts_with(kScheme)) return false;
  const size_t slash = text.find('/', kScheme.size());
  return slash != std::string_view::npos && slash > kScheme.size() && slash + 1 < text.size();
}

std::string_view first_characters(std::string_view text, size_t count) {
  if (text.size() <= count) return text;  // a character has a byte at least
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += std::max<size_t>(1, utf8_length(text.substr(at, 4)));
  return text.substr(0, at);
}

std::string_view input_type_name(InputType type) {
  constexpr std::array<std::string_view, 5> kNames = {"null", "boolean", "number", "string", "file"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace tacho
