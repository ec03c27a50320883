// Event files for --report end, as the existing collector reports them: file by file all tensor tags, then all
// simple-value tags, each tag for each metric in file order, without the values that a restart of training purged:
//   file version 2: a session's START removes simple values of its step and later ones;
//   no version: an event whose step goes back removes those of its own tags from that step on; tensors stay.
// A file is read once to learn its tags and restarts, then once for each pair of tag and metric, so that no row is held
// in memory. Nothing is passed on before training is over. Not thread-safe.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "katib/read/reader.h"

namespace tacho {

std::unique_ptr<Reader> make_ordered_event_reader(std::string folder, ReaderOptions options);

// The folders to watch: those that were found; the parent of `root` while `root` does not exist.
std::vector<std::string> event_folders(const std::string& root, const std::vector<std::string>& found);

}  // namespace tacho
