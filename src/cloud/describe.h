// The machine as a start body carries it: host_* and cloud_* in their wire names, without unknown and hidden fields.
// Both `tacho discover` and the registration of a run take it from here. Pure; thread-safe.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/writer.h"
#include "cloud/cloud.h"
#include "model/run.h"

namespace tacho {

struct DescribedField {
  std::string_view name;
  std::variant<std::string, int64_t, double> value;  // a double has three decimals
};

// `hidden`: wire names, as --hide gives them after its group words were replaced.
std::vector<DescribedField> describe_machine(const Host& host, const Cloud& cloud, std::span<const std::string> hidden);

// As members of an object that is open.
void write_fields(JsonWriter& json, std::span<const DescribedField> fields);
// The value as a person reads it.
std::string field_text(const DescribedField& field);

}  // namespace tacho
