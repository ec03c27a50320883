// The kinds of metrics collectors that a Trial may ask for: one line per kind. From it the collector knows what to
// follow, the webhook what to put into a pod, and the controller who reports; a test compares the documents and the
// image with these lines. Constant data; thread-safe.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace tacho {

struct CollectorKind {
  // What rows are made from; katib/read/readers.cc has a reader for each sort of file.
  enum class Source {
    log,
    event_files,
    endpoint,   // scraped over HTTP
    container,  // the user's own container reads it
    trainer,    // the trainer reports by itself: nothing to read, and no sidecar
  };
  std::string_view name;                      // as Katib writes it
  std::array<std::string_view, 2> spellings;  // others, in lower case
  Source source;
  std::string_view container;  // name of the sidecar; empty: its own, or none

  // In a trial pod.
  std::string_view path;       // where the Trial names none, or may not
  bool takes_path;             // the Trial may name another
  bool path_is_folder;         // the path itself is shared with the trainer, not the folder that it is in
  std::string_view format;     // -format; empty: there is none
  bool takes_format;           // the Trial may name another
  bool is_printed;             // by the trainer: the wrapper writes it to `path`, or it is read by the API
  std::string_view flag_path;  // of `collect` without -path; empty: there is none
  std::string_view program;    // the older collector that it replaces, when called by that name

  // For people, in docs/katib-collector.md.
  std::string_view reads, flags;

  bool is_ours() const { return source != Source::container && source != Source::trainer; }
};

std::span<const CollectorKind> collector_kinds();
// Of a Trial that names none.
const CollectorKind& usual_collector_kind();
// The first kind with this source.
const CollectorKind& collector_kind_of(CollectorKind::Source source);
// By its name or another spelling, in any case; null when there is no such kind.
const CollectorKind* find_collector_kind(std::string_view text);
// "StdOut, File, … or Push", for messages.
std::string collector_kind_names();

}  // namespace tacho
