#include "kube/trials/gjson.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tacho {
namespace {

constexpr int kDepth = 32;  // of queries in queries
constexpr size_t kPathBytes = 4096;

// * and ? as in file names; a backslash makes the next character a plain one. Linear but for one star to come back to.
bool fits(std::string_view text, std::string_view pattern) {
  size_t t = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
      continue;
    }
    const bool escaped = p + 1 < pattern.size() && pattern[p] == '\\';
    const char wanted = p < pattern.size() ? pattern[escaped ? p + 1 : p] : '\0';
    if (p < pattern.size() && (wanted == text[t] || (wanted == '?' && !escaped))) {
      p += escaped ? 2 : 1;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct Step {
  std::string_view text;  // a key with its escapes, or "#", or "#(…)", or "#(…)#"
  bool piped = false;     // what follows takes the result as a whole
  std::string_view rest;
  bool last = true;
};

// Position behind the bracket that closes the one at `at`; npos when none does. Quoted text is skipped.
size_t closing(std::string_view text, size_t at) {
  int depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') ++at;
    else if (c == '"') quoted = !quoted;
    else if (!quoted && (c == '(' || c == '[')) ++depth;
    else if (!quoted && (c == ')' || c == ']') && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

std::optional<Step> next_step(std::string_view path) {
  size_t at = 0;
  if (path.starts_with("#(") || path.starts_with("#[")) {
    at = closing(path, 1);
    if (at == std::string_view::npos) return std::nullopt;
    if (at < path.size() && path[at] == '#') ++at;
    if (at < path.size() && path[at] != '.' && path[at] != '|') return std::nullopt;
  } else if (path.starts_with('[')) {
    at = closing(path, 0);
    if (at == std::string_view::npos || (at < path.size() && path[at] != '.' && path[at] != '|')) return std::nullopt;
  } else {
    for (; at < path.size() && path[at] != '.' && path[at] != '|'; ++at) {
      if (path[at] == '\\') ++at;
    }
    at = std::min(at, path.size());
  }
  Step step{path.substr(0, at), false, {}, at >= path.size()};
  if (!step.last) {
    step.piped = path[at] == '|';
    step.rest = path.substr(at + 1);
  }
  return step;
}

std::optional<Json> walk(const Json& value, std::string_view path, int depth);

struct Query {
  std::string_view path, op;
  std::string value;
};

// key op value, where the key may hold a query of its own, and any part may be missing.
Query parse_query(std::string_view text) {
  Query query;
  size_t at = 0;
  while (at < text.size() && std::string_view("=!<>%").find(text[at]) == std::string_view::npos) {
    if (text[at] == '\\') ++at;
    else if (text[at] == '#' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '[')) {
      const size_t end = closing(text, at + 1);
      at = end == std::string_view::npos ? text.size() : end;
      continue;
    }
    ++at;
  }
  at = std::min(at, text.size());
  query.path = trim(text.substr(0, at));
  if (at == text.size()) return query;
  size_t length = 1;
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  if ((text[at] != '%' && next == '=') || (text[at] == '!' && next == '%')) length = 2;
  query.op = text.substr(at, length);
  if (query.op == "==") query.op = "=";
  const std::string_view value = trim(text.substr(at + length));
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    for (size_t i = 1; i + 1 < value.size(); ++i) {
      if (value[i] == '\\' && i + 2 < value.size()) ++i;
      query.value += value[i];
    }
  } else {
    query.value = std::string(value);
  }
  return query;
}

template <class T>
bool compare(const T& a, std::string_view op, const T& b) {
  if (op == "=") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return op == ">=" && a >= b;
}

bool matches(const Json& element, const Query& query, int depth) {
  std::optional<Json> found;
  const Json* value = &element;
  if (!query.path.empty()) {
    if (!element.is_structured()) return false;
    found = walk(element, query.path, depth + 1);
    if (!found) return false;
    value = &*found;
  }
  if (query.op.empty()) return true;
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    if (query.op == "%") return fits(text, query.value);
    if (query.op == "!%") return !fits(text, query.value);
    return compare(text, query.op, query.value);
  }
  if (value->is_number()) return compare(value->get<double>(), query.op, std::strtod(query.value.c_str(), nullptr));
  if (value->is_boolean()) return compare(value->get<bool>(), query.op, query.value == "true");
  return false;
}

std::optional<Json> go_on(const Json& value, const Step& step, int depth) {
  if (step.last) return value;
  return walk(value, step.rest, depth);
}

// The rest of the path for every element; those where it leads nowhere are left out.
std::optional<Json> for_all(const Json& array, const Step& step, int depth) {
  if (step.last) return array;
  if (step.piped) return walk(array, step.rest, depth);
  // "a.#.b|c": the pipe takes the list of all b.
  Json list = Json::array();
  std::string_view rest = step.rest, tail;
  bool has_tail = false;
  for (std::string_view left = rest; !left.empty();) {
    const std::optional<Step> inner = next_step(left);
    if (!inner) return std::nullopt;
    if (inner->last) break;
    if (inner->piped) {
      rest = rest.substr(0, static_cast<size_t>(inner->rest.data() - rest.data()) - 1);
      tail = inner->rest;
      has_tail = true;
      break;
    }
    left = inner->rest;
  }
  for (const Json& element : array) {
    if (std::optional<Json> found = walk(element, rest, depth)) list.push_back(std::move(*found));
  }
  return has_tail ? walk(list, tail, depth) : list;
}

std::optional<Json> walk_array(const Json& array, const Step& step, int depth) {
  if (step.text == "#") {
    if (step.last) return Json(array.size());
    if (step.piped) return walk(Json(array.size()), step.rest, depth);
    return for_all(array, step, depth);
  }
  if (step.text.size() > 2 && step.text[0] == '#') {
    const bool all = step.text.back() == '#';
    const Query query = parse_query(step.text.substr(2, step.text.size() - (all ? 4 : 3)));
    Json list = Json::array();
    for (const Json& element : array) {
      if (!matches(element, query, depth)) continue;
      if (!all) return go_on(element, step, depth);
      list.push_back(element);
    }
    if (!all) return std::nullopt;
    return for_all(list, step, depth);
  }
  const std::optional<size_t> index = parse_int<size_t>(step.text);
  if (!index || *index >= array.size()) return std::nullopt;
  return go_on(array[*index], step, depth);
}

// [path,path]: a new array of what each leads to.
std::optional<Json> gather(const Json& value, const Step& step, int depth) {
  Json list = Json::array();
  for (std::string_view left = step.text.substr(1, step.text.size() - 2); !left.empty();) {
    size_t at = 0;
    for (; at < left.size() && left[at] != ','; ++at) {
      if (left[at] == '\\') ++at;
      else if (left[at] == '(' || left[at] == '[') at = std::min(closing(left, at), left.size()) - 1;
    }
    at = std::min(at, left.size());
    if (std::optional<Json> found = walk(value, left.substr(0, at), depth + 1)) list.push_back(std::move(*found));
    left = left.substr(std::min(at + 1, left.size()));
  }
  return go_on(list, step, depth);
}

std::optional<Json> walk(const Json& value, std::string_view path, int depth) {
  if (depth > kDepth) return std::nullopt;
  const std::optional<Step> step = next_step(path);
  if (!step || (step->text.empty() && step->last)) return std::nullopt;
  if (step->text == "@this") return go_on(value, *step, depth);
  if (step->text.starts_with('@')) return std::nullopt;
  if (step->text.starts_with('[')) return gather(value, *step, depth);
  if (value.is_array()) return walk_array(value, *step, depth);
  if (!value.is_object()) return std::nullopt;
  for (const auto& [key, member] : value.items()) {
    if (fits(key, step->text)) return go_on(member, *step, depth);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Json> gjson_get(const Json& value, std::string_view path) {
  if (path.size() > kPathBytes) return std::nullopt;  // each step may cost a stack frame
  return walk(value, path, 0);
}

ConditionMatch match_condition(const Json& job, std::string_view condition) {
  ConditionMatch match;
  if (condition.empty()) return match;
  const std::optional<Json> found = gjson_get(job, condition);
  if (!found || !(found->is_object() || (found->is_array() && !found->empty()))) return match;
  match.met = true;
  const Json& source = found->is_array() ? found->front() : *found;
  match.reason = text_at(source, {"reason"});
  match.message = text_at(source, {"message"});
  return match;
}

}  // namespace tacho
