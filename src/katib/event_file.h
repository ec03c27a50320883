// The events of one event file that may still grow. Its last record may be incomplete: then there is none yet. Of a record of
// more than 1 MiB (a graph, images beside scalars) only the small fields are kept. Not thread-safe.
#pragma once
#include <optional>
#include <string>

#include "katib/event.h"
#include "katib/event_sieve.h"
#include "katib/growing_file.h"

namespace tacho {

class EventFile {
 public:
  static constexpr uint64_t kLargestRecord = uint64_t{1} << 20;
  enum class Next {
    event,
    nothing,  // not now
    broken,   // a checksum is wrong, or the file cannot be read: error() tells
  };

  // A record whose own checksum is wrong is passed over and counted; one whose length cannot be trusted is the end of the file.
  EventFile(std::string path, std::optional<GrowingFile::Place> place);

  // The event's views are good until the next call. With `at_end` nobody writes any more.
  Next next(Event& event, bool at_end);
  // Passes by whole records without a look into them, about `most` bytes of them. False: there is no more now, or error() tells.
  bool pass_by(bool at_end, uint64_t most);
  uint64_t event_offset() const { return event_offset_; }  // where the last event's record begins
  // Of the last event's record; good until the next call of next().
  std::optional<GrowingFile::Place> event_place() const { return large_place_ ? large_place_ : file_.place(event_size_); }
  // Behind the last event.
  std::optional<GrowingFile::Place> place() const { return file_.place(); }
  uint64_t offset() const { return file_.offset(); }
  bool restarted() { return file_.restarted(); }
  uint64_t bad_records() const { return bad_records_; }
  const std::string& error() const { return error_; }

 private:
  Next fail(const char* what);
  Next next_large(const TfRecord& record, Event& event);
  bool is_unwritten() const;

  GrowingFile file_;
  EventSieve sieve_;
  uint64_t event_offset_ = 0;
  size_t event_size_ = 0;                           // its record, which is still in the buffer
  std::optional<GrowingFile::Place> large_place_;   // its record is not
  uint64_t bad_records_ = 0;
  std::string error_;
};

}  // namespace tacho
