// Kubernetes objects as JSON trees: fields that tacho does not know are kept as they came. Pure functions, thread-safe.
// The order of keys is kept, since a wildcard takes the first that fits.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

using Json = nlohmann::ordered_json;

constexpr int kJsonDepth = 128;
// What a tree of the text would cost, counted over the bytes without building it: one pass, no memory. For a text that
// is no JSON the counts mean nothing, but are never less than what a parser sees before it finds out.
struct JsonSize {
  int depth = 0;
  size_t values = 0;
  // Keys keep their order in a list, so an object of n keys is built with n²/2 comparisons: 300,000 keys in 3 MB would
  // take seconds.
  uint64_t comparisons = 0;
};
JsonSize measure_json(std::string_view text);
struct JsonLimits {
  size_t values = 500'000;            // some 150 bytes each
  uint64_t comparisons = 20'000'000;  // a tenth of a second
};
// Nothing when it is no JSON, when brackets are nested deeper than kJsonDepth, or beyond the limits.
std::optional<Json> parse_json(std::string_view text, const JsonLimits& limits = {});
// JSON text; bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const Json& value);

// The value at a path: {"a": {"b": 1}} with {"a", "b"}; nullptr when a step is missing or is no object.
const Json* find(const Json& from, std::initializer_list<std::string_view> steps);
// The same for a text; empty when it is missing or no string.
std::string text_at(const Json& from, std::initializer_list<std::string_view> steps);

// "namespace/name"; the name alone for an object without namespace.
std::string object_key(std::string_view ns, std::string_view name);
std::string object_key(const Json& object);

// The object in a good answer. Nothing when it is another one, or none: a proxy on the way may say 200 to anything, and
// what was asked for must not be taken for empty. An empty kind is any.
std::optional<Json> read_object(std::string_view body, std::string_view kind, std::string_view name);
constexpr const char* kAnotherObject = "the API server's answer is not the object that was asked for";

struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
};
std::vector<OwnerReference> owners_of(const Json& object);
// The Trial (kubeflow.org) among the owners.
std::optional<OwnerReference> trial_owner(const Json& object);

// A list as the API server sends it:
// {"kind":"TrialList","metadata":{"resourceVersion":"7","continue":"…"},"items":[{…},{…}]}. The items are handed out as
// text, one by one, so that 500 objects need no tree of them all.
struct ListHead {
  std::string resource_version, continue_token;
};
std::optional<ListHead> split_list(std::string_view text, const std::function<void(std::string_view item)>& take);

// Calls visit for each member of the text's object, values as text; false when it is no object, is cut off or goes on
// after its end.
bool each_member_of(std::string_view text,
                    const std::function<void(std::string_view key, std::string_view value)>& visit);

// Where the value at the beginning of text ends; 0 when there is none. Text in strings is skipped, nothing else is
// checked.
size_t json_value_length(std::string_view text);

}  // namespace tacho
