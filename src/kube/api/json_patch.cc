#include "kube/api/json_patch.h"

#include <nlohmann/json.hpp>

namespace tacho {
namespace {

// The reverse of pointer_part.
std::string plain_key(const std::string& part) {
  std::string out;
  for (size_t i = 0; i < part.size(); i++) {
    if (part[i] != '~' || i + 1 >= part.size()) out += part[i];
    else out += part[++i] == '1' ? '/' : '~';
  }
  return out;
}

Json::json_pointer pointer_of(const std::string& pointer) { return Json::json_pointer(pointer); }

}  // namespace

std::string pointer_part(std::string_view key) {
  std::string out;
  out.reserve(key.size());
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

const Json* JsonPatch::at(const std::string& pointer) const {
  const Json* here = &tree_;
  size_t begin = 0;
  while (begin < pointer.size()) {
    const size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    std::string part = pointer.substr(begin + 1, end - begin - 1);
    begin = end;
    if (here->is_array()) {
      if (part.empty() || part.find_first_not_of("0123456789") != std::string::npos || part.size() > 9) return nullptr;
      const size_t index = std::stoul(part);
      if (index >= here->size()) return nullptr;
      here = &(*here)[index];
      continue;
    }
    if (!here->is_object()) return nullptr;
    if (part.find('~') != std::string::npos) part = plain_key(part);
    const auto found = here->find(part);
    if (found == here->end()) return nullptr;
    here = &*found;
  }
  return here->is_null() ? nullptr : here;
}

void JsonPatch::record(const char* operation, std::string pointer, const Json& value) {
  Json one = Json::object();
  one["op"] = operation;
  one["path"] = std::move(pointer);
  one["value"] = value;
  operations_.push_back(dump_json(one));
}

void JsonPatch::ensure(const std::string& pointer, bool array) {
  const Json* here = at(pointer);
  if (here != nullptr && (array ? here->is_array() : here->is_object())) return;
  const size_t slash = pointer.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    const std::string parent = pointer.substr(0, slash);
    if (at(parent) == nullptr) ensure(parent, false);
  }
  Json made = array ? Json::array() : Json::object();
  record("add", pointer, made);
  tree_[pointer_of(pointer)] = std::move(made);
}

void JsonPatch::ensure_object(const std::string& pointer) { ensure(pointer, false); }
void JsonPatch::ensure_array(const std::string& pointer) { ensure(pointer, true); }

void JsonPatch::set(const std::string& pointer, Json value) {
  const Json* here = at(pointer);
  if (here != nullptr && *here == value) return;
  record(here == nullptr ? "add" : "replace", pointer, value);
  tree_[pointer_of(pointer)] = std::move(value);
}

void JsonPatch::append(const std::string& pointer, Json value) {
  ensure_array(pointer);
  record("add", pointer + "/-", value);
  tree_[pointer_of(pointer)].push_back(std::move(value));
}

bool JsonPatch::empty() const { return operations_.empty(); }
size_t JsonPatch::size() const { return operations_.size(); }

std::string JsonPatch::text() const {
  std::string out = "[";
  for (const std::string& operation : operations_) {
    if (out.size() > 1) out += ',';
    out += operation;
  }
  return out + "]";
}

bool apply_json_patch(Json& tree, const Json& operations) {
  try {
    tree = tree.patch(operations);
    return true;
  } catch (const Json::exception&) { return false; }
}

}  // namespace tacho
