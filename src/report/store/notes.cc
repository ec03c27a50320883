#include "report/store/notes.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "os/file.h"
#include "os/owned_folder.h"

namespace tacho {
namespace {

constexpr size_t kLargestFile = 2 * kMostNotes * kLongestNote;

// "1794735000 first run on the new node"
std::vector<std::string> parse_notes(std::string_view text) {
  std::vector<std::string> notes;
  for (const std::string_view line : split(text, '\n')) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || !parse_int<int64_t>(line.substr(0, blank)) || notes.size() == kMostNotes)
      continue;
    notes.push_back(harmless_text(line.substr(blank + 1, kLongestNote)));
  }
  return notes;
}

}  // namespace

void add_notes(StoredRun& stored) {
  const auto text = read_plain_file(stored.folder + "/" + std::string(kNotesName), kLargestFile);
  if (!text) return;
  auto json = nlohmann::ordered_json::parse(stored.json, nullptr, false);
  const bool has_list = json.is_object() && json["notes"].is_array();
  for (const std::string& note : parse_notes(*text)) {
    stored.run.notes.push_back(note);
    if (has_list) json["notes"].push_back(note);
  }
  if (has_list) stored.json = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status append_note(const StoredRun& stored, std::string_view text, int64_t realtime_ns) {
  const std::string note = harmless_text(trim(text));
  if (trim(note).empty())
    return Error{Code::invalid, "a note needs a text", "", "write tacho note last 'new compiler'"};
  if (note.size() > kLongestNote)
    return Error{Code::invalid, "a note has at most 1000 bytes", "", "this one has " + std::to_string(note.size())};
  const auto folder = OwnedFolder::open(stored.folder);
  if (!folder) return folder.error();
  const auto before = folder->read(kNotesName, kLargestFile);
  if (before && parse_notes(*before).size() >= kMostNotes)
    return Error{Code::invalid, "a run has at most 100 notes", stored.folder, "remove lines of its notes.txt"};
  const auto file = folder->open_file(kNotesName, O_WRONLY | O_CREAT | O_APPEND);
  if (!file) return file.error();
  return write_all(file->get(), std::to_string(realtime_ns / kNsPerSec) + " " + note + "\n");
}

}  // namespace tacho
