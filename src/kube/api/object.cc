#include "kube/api/object.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace tacho {
namespace {

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
  return at;
}

// at is behind the opening quote; returns the position behind the closing one, npos when there is none.
size_t skip_string(std::string_view text, size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == '"') return at + 1;
  }
  return std::string_view::npos;
}

// Calls visit(key, value) for each member of the object at the beginning of text; false when the text is broken or
// visit said so.
template <class Visit>
bool each_member(std::string_view text, Visit visit) {
  size_t at = skip_blanks(text, 0);
  if (at >= text.size() || text[at] != '{') return false;
  at = skip_blanks(text, at + 1);
  if (at < text.size() && text[at] == '}') return true;
  while (at < text.size()) {
    if (text[at] != '"') return false;
    const size_t key_end = skip_string(text, at + 1);
    if (key_end == std::string_view::npos) return false;
    const std::string_view key = text.substr(at + 1, key_end - at - 2);
    at = skip_blanks(text, key_end);
    if (at >= text.size() || text[at] != ':') return false;
    at = skip_blanks(text, at + 1);
    const size_t length = json_value_length(text.substr(at));
    if (length == 0 || !visit(key, text.substr(at, length))) return false;
    at = skip_blanks(text, at + length);
    if (at < text.size() && text[at] == '}') return true;
    if (at >= text.size() || text[at] != ',') return false;
    at = skip_blanks(text, at + 1);
  }
  return false;
}

bool each_element(std::string_view array, const std::function<void(std::string_view)>& take) {
  size_t at = skip_blanks(array, 1);
  if (at < array.size() && array[at] == ']') return true;
  while (at < array.size()) {
    const size_t length = json_value_length(array.substr(at));
    if (length == 0) return false;
    take(array.substr(at, length));
    at = skip_blanks(array, at + length);
    if (at < array.size() && array[at] == ']') return true;
    if (at >= array.size() || array[at] != ',') return false;
    at = skip_blanks(array, at + 1);
  }
  return false;
}

}  // namespace

size_t json_value_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '"') {
    const size_t end = skip_string(text, 1);
    return end == std::string_view::npos ? 0 : end;
  }
  if (text[0] != '{' && text[0] != '[') {
    const size_t end = text.find_first_of(",]} \t\r\n");
    return end == std::string_view::npos ? text.size() : end;
  }
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at + 1);
      if (at == std::string_view::npos) return 0;
      --at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

JsonSize measure_json(std::string_view text) {
  JsonSize out;
  std::array<uint64_t, kJsonDepth + 1> commas{};  // of the open brackets
  out.values = 1;
  int depth = 0;
  const auto close = [&](uint64_t count) {
    const uint64_t members = count + 1;
    out.comparisons += members < 2'000'000 ? members * (members - 1) / 2 : uint64_t{1} << 40;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at + 1);
      if (at == std::string_view::npos) break;
      --at;
    } else if (c == '{' || c == '[') {
      ++out.values;
      if (++depth > kJsonDepth) return out.depth = depth, out;
      out.depth = std::max(out.depth, depth);
      commas[static_cast<size_t>(depth)] = 0;
    } else if (c == '}' || c == ']') {
      if (c == '}' && depth > 0) close(commas[static_cast<size_t>(depth)]);
      depth = std::max(depth - 1, 0);
    } else if (c == ',') {
      ++out.values;
      ++commas[static_cast<size_t>(depth)];
    }
  }
  // What a cut-off text leaves open has been built by then.
  for (; depth > 0; --depth) close(commas[static_cast<size_t>(depth)]);
  return out;
}

std::optional<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  const JsonSize size = measure_json(text);
  if (size.depth > kJsonDepth || size.values > limits.values || size.comparisons > limits.comparisons)
    return std::nullopt;
  // The library takes a NUL for the end, whatever follows; in JSON there is none.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

bool each_member_of(std::string_view text,
                    const std::function<void(std::string_view key, std::string_view value)>& visit) {
  const size_t begin = skip_blanks(text, 0);
  const size_t length = begin < text.size() && text[begin] == '{' ? json_value_length(text.substr(begin)) : 0;
  if (length == 0 || skip_blanks(text, begin + length) != text.size()) return false;
  return each_member(text.substr(begin, length), [&](std::string_view key, std::string_view value) {
    if (key.find('\\') == std::string_view::npos) return visit(key, value), true;
    const std::optional<Json> plain = parse_json("\"" + std::string(key) + "\"");
    return plain && plain->is_string() && (visit(plain->get<std::string>(), value), true);
  });
}

std::string dump_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json* find(const Json& from, std::initializer_list<std::string_view> steps) {
  const Json* at = &from;
  for (const std::string_view step : steps) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(std::string(step));
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string text_at(const Json& from, std::initializer_list<std::string_view> steps) {
  const Json* value = find(from, steps);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string object_key(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name);
}

std::string object_key(const Json& object) {
  return object_key(text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"}));
}

std::optional<Json> read_object(std::string_view body, std::string_view kind, std::string_view name) {
  std::optional<Json> object = parse_json(body);
  if (!object || text_at(*object, {"metadata", "name"}) != name) return std::nullopt;
  if (!kind.empty() && text_at(*object, {"kind"}) != kind) return std::nullopt;
  return object;
}

std::vector<OwnerReference> owners_of(const Json& object) {
  std::vector<OwnerReference> owners;
  const Json* list = find(object, {"metadata", "ownerReferences"});
  if (list == nullptr || !list->is_array()) return owners;
  for (const Json& entry : *list) {
    const Json* controller = find(entry, {"controller"});
    owners.push_back({text_at(entry, {"apiVersion"}), text_at(entry, {"kind"}), text_at(entry, {"name"}),
                      text_at(entry, {"uid"}),
                      controller != nullptr && controller->is_boolean() && controller->get<bool>()});
  }
  return owners;
}

std::optional<OwnerReference> trial_owner(const Json& object) {
  for (OwnerReference& owner : owners_of(object)) {
    if (owner.kind == "Trial" && owner.api_version.starts_with("kubeflow.org/")) return std::move(owner);
  }
  return std::nullopt;
}

std::optional<ListHead> split_list(std::string_view text, const std::function<void(std::string_view)>& take) {
  ListHead head;
  bool has_metadata = false;
  const bool whole = each_member(text, [&](std::string_view key, std::string_view value) {
    if (key == "items") return value == "null" || (value[0] == '[' && each_element(value, take));
    if (key != "metadata") return true;
    const std::optional<Json> metadata = parse_json(value);
    if (!metadata) return false;
    head = {text_at(*metadata, {"resourceVersion"}), text_at(*metadata, {"continue"})};
    return has_metadata = true;
  });
  if (!whole || !has_metadata) return std::nullopt;
  return head;
}

}  // namespace tacho
