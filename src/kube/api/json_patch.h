// Edits on a JSON tree that are remembered as operations of RFC 6902: the patch holds only the change, so fields that
// tacho does not know are never written again. Not thread-safe.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/object.h"

namespace tacho {

// A key as a part of a JSON pointer: ~ and / are escaped.
std::string pointer_part(std::string_view key);

class JsonPatch {
 public:
  // Edits change `tree` at once, so that a later step sees an earlier one's result.
  explicit JsonPatch(Json& tree) : tree_(tree) {}

  const Json& tree() const { return tree_; }
  // nullptr when nothing is there; null counts as nothing.
  const Json* at(const std::string& pointer) const;

  // Makes sure that an object or array is there; parents are made first, each by an operation of its own.
  void ensure_object(const std::string& pointer);
  void ensure_array(const std::string& pointer);
  // Adds the member or replaces its value; no operation when it has that value already.
  void set(const std::string& pointer, Json value);
  // To the end of an array, which is made when it is missing.
  void append(const std::string& pointer, Json value);

  bool empty() const;
  size_t size() const;
  std::string text() const;  // the array of operations

 private:
  void ensure(const std::string& pointer, bool array);
  void record(const char* operation, std::string pointer, const Json& value);

  Json& tree_;
  std::vector<std::string> operations_;
};

// The patch of `operations` applied to `tree`; nothing when one cannot be applied. For tests, and for whoever checks a
// patch.
bool apply_json_patch(Json& tree, const Json& operations);

}  // namespace tacho
