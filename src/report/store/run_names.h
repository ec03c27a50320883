// What runs are called by people: ids, and the shortest parts of them. Pure functions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

// As short as a part of an id may be: shorter ones fit by accident.
inline constexpr size_t kShortestPart = 4;

// The id's beginning that no other of the names (sorted, the greatest first) begins with, at least the date and 4
// digits. Ids of another form than YYYYMMDD- and 12 digits are shown whole.
std::string shortest_unique(const std::vector<std::string>& names, const std::string& id);

// Whether it has the form that tacho prints, YYYYMMDD- and 4 to 12 digits.
bool is_id_form(std::string_view word);

// Whether a word fits an id: it is one, or a part of it.
bool is_part_of(std::string_view word, std::string_view id);

}  // namespace tacho
