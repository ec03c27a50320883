// The list of seals in a run's folder: one line for each complete segment, with what it must hold. A line without its
// end does not count; of several lines with one number the last counts (a repaired segment is sealed again); an
// impossible line is ignored. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/owned_folder.h"

namespace tacho {

struct Seal {
  uint32_t number = 0;
  int64_t bytes = 0, rows = 0;  // rows without the header
  uint32_t crc = 0;             // CRC-32C
};
// "000003 8421 60 1f2e3d4c\n"
std::string seal_line(const Seal& seal);
std::optional<Seal> parse_seal(std::string_view line);  // without the line's end

std::map<uint32_t, Seal> read_seals(const OwnedFolder& folder);
// On disk when it returns.
Status write_seal(const OwnedFolder& folder, const Seal& seal);

Seal seal_of(uint32_t number, std::string_view text, int64_t rows);
bool matches(const Seal& seal, std::string_view text);

}  // namespace tacho
