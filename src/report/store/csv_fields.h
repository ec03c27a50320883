// The fields of a CSV line (RFC 4180): numbers as fast as they can be read, and texts. Pure, thread-safe, no
// allocation but for quoted texts.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// Reads the field at `at` as a number and leaves `at` at its comma, or at `end`. kAbsent where it is empty or no finite
// number. False when a quote is not closed.
bool take_number(const char*& at, const char* end, double& value);

// One field after the other.
class FieldSplitter {
 public:
  explicit FieldSplitter(std::string_view line) : rest_(line) {}
  // False behind the last one, and where a quote is not closed.
  bool next();
  // The field; where it holds doubled quotes, made in `room`.
  std::string_view text(std::string& room) const;

 private:
  std::string_view rest_, field_;
  bool quoted_ = false, ended_ = false;
};

}  // namespace tacho
