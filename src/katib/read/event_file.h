// The events of one event file that may still grow. Its last record may be incomplete: it does not count yet. A record
// of more than 1 MiB (a graph, images beside scalars) keeps only its small fields and may come as several events. Not
// thread-safe.
#pragma once
#include <bitset>
#include <optional>
#include <string>

#include "katib/read/event.h"
#include "katib/read/event_sieve.h"
#include "katib/read/growing_file.h"

namespace tacho {

using FirstLetters = std::bitset<256>;

class EventFile {
 public:
  static constexpr uint64_t kLargestRecord = uint64_t{1} << 20;
  enum class Next {
    event,
    nothing,  // not now
    later,    // the file cannot be read now: error() tells
    broken,   // a checksum is wrong: error() tells
  };

  // A record whose own checksum is wrong is passed over and counted; one whose length cannot be trusted is the end of
  // the file.
  EventFile(std::string path, std::optional<GrowingFile::Place> place);

  // The event's views are good until the next call. With `at_end` nobody writes any more.
  Next next(Event& event, bool at_end);
  // From now on plain scalars whose tag begins with none of these letters may be passed over. Lives as long as this.
  void want_tags(const FirstLetters& letters) { letters_ = &letters; }
  // This many values of the record where reading began are known: a large record may leave them out.
  void pass_values(uint64_t count) { known_values_ = count; }
  // Reads nothing, but afterwards restarted() says whether the file began anew.
  Next look();
  uint64_t event_offset() const { return event_offset_; }  // where the last event's record begins
  // Of the last event's record; good until the next call of next().
  std::optional<GrowingFile::Place> event_place() const {
    return large_place_ ? large_place_ : file_.place(event_size_);
  }
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
  bool is_of_another(std::string_view payload) const;
  Next put_off(const Error& error);

  GrowingFile file_;
  EventSieve sieve_;
  const FirstLetters* letters_ = nullptr;
  uint64_t event_offset_ = 0;
  size_t event_size_ = 0;                          // its record, which is still in the buffer
  std::optional<GrowingFile::Place> large_place_;  // its record is not
  uint64_t known_values_ = 0, first_offset_ = 0;   // values of the record there
  uint64_t next_value_ = 0;                        // of it, where the next event goes on; 0: with the next record
  uint64_t bad_records_ = 0;
  std::string error_;
};

}  // namespace tacho
