#include "katib/event_file.h"

#include <algorithm>

#include "base/log.h"

namespace tacho {

EventFile::EventFile(std::string path, std::optional<GrowingFile::Place> place) : file_(std::move(path)) {
  if (place) file_.seek(place);
}

EventFile::Next EventFile::fail(const char* what) {
  error_ = std::string(what) + " at offset " + std::to_string(file_.offset());
  return Next::broken;
}

// Some file systems show a file's new length before its new bytes.
bool EventFile::is_unwritten() const {
  const std::string_view bytes = file_.unread();
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

EventFile::Next EventFile::next(Event& event, bool at_end) {
  for (;;) {
    const TfRecord record = first_record(file_.unread());
    switch (record.state) {
      case TfRecord::State::complete: {
        event_offset_ = file_.offset();
        file_.consume(record.size);
        if (parse_event(record.payload, event)) return Next::event;
        ++bad_records_;
        log::warn("an event of " + file_.path() + " cannot be decoded; it is passed over");
        continue;
      }
      case TfRecord::State::bad_length:
        if (!at_end && is_unwritten()) return Next::nothing;
        ++bad_records_;
        return fail("the checksum of a record's length is wrong");
      case TfRecord::State::bad_payload:
        if (!at_end && file_.offset() + record.size >= file_.size()) return Next::nothing;
        ++bad_records_;
        log::warn("the checksum of a record of " + file_.path() + " is wrong; the record is passed over");
        file_.consume(record.size);
        continue;
      case TfRecord::State::incomplete:
        if (record.size > kLargestRecord) {
          if (!file_.skip(record.size)) return Next::nothing;
          continue;
        }
        break;
    }
    const auto filled = file_.fill(at_end);
    if (!filled) return error_ = filled.error().message(), Next::broken;
    if (*filled != GrowingFile::Fill::more) return Next::nothing;
  }
}

}  // namespace tacho
