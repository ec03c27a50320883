// What a person wrote about a run (tacho note): a line each in <run folder>/notes.txt, UNIX seconds and the text.
// Beside run.json, which a run that goes on writes anew at every tick. Reading is bounded. Thread-safe (no state).
#pragma once
#include <string_view>

#include "report/store/store.h"

namespace tacho {

inline constexpr std::string_view kNotesName = "notes.txt";
inline constexpr size_t kLongestNote = 1000, kMostNotes = 100;

// Behind the notes that the run made itself, in `run` and in `json`.
void add_notes(StoredRun& stored);

// invalid: an empty text, or there are enough; denied: the folder is not ours.
Status append_note(const StoredRun& stored, std::string_view text, int64_t realtime_ns);

}  // namespace tacho
