// A call's inputs as flat entries (key, type, value): arrays become key[i], maps key["k"], nested by appending. A file
// is a text of the form gs://bucket/name. Pure but for the reader; thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "cromwell/call.h"
#include "cromwell/json_reader.h"

namespace tacho {

inline constexpr size_t kMostInputs = 20'000;
inline constexpr size_t kMostCharacters = 1'000;
inline constexpr size_t kMostInputBytes = size_t{16} << 20;
inline constexpr int kMostInputLevels = 64;

// {"reads":["gs://b/x.bam"],"n":3}: the object whose first token was just read. False when the document is broken.
// Inputs beyond the limits are left out, and call.inputs_cut is set.
bool read_inputs(JsonReader& reader, Call& call);

// "3" → "3.000000", "1e-9" → "1e-09": six decimals where that loses nothing, else the shortest text that reads back
// equal; integers beyond 2^53 keep their digits.
std::string input_number(std::string_view json);
// Bytes as GB with six decimals where that loses nothing, else nine.
std::string input_gigabytes(int64_t bytes);
bool is_gs_path(std::string_view text);
std::string_view first_characters(std::string_view text, size_t count);
std::string_view input_type_name(InputType type);

}  // namespace tacho
