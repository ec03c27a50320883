#include "katib/read/event_file.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/log.h"

namespace tacho {

EventFile::EventFile(std::string path, std::optional<GrowingFile::Place> place) : file_(std::move(path)) {
  if (!place) return;
  first_offset_ = place->offset;
  file_.seek(place);
}

EventFile::Next EventFile::fail(const char* what) {
  error_ = std::string(what) + " at offset " + std::to_string(file_.offset());
  return Next::broken;
}

// What was read is kept; of a large record that is only partly read nothing is.
EventFile::Next EventFile::put_off(const Error& error) {
  error_ = error.message();
  return Next::later;
}

// Some file systems show a file's new length before its new bytes.
bool EventFile::is_unwritten() const {
  const std::string_view bytes = file_.unread();
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

// The record is there as a whole; it is read piece by piece. Nothing: it was passed over, or the file began anew.
EventFile::Next EventFile::next_large(const TfRecord& record, Event& event) {
  const uint64_t beginnings = file_.beginnings(), payload_size = record.size - TfRecord::kHeader - TfRecord::kFooter;
  event_offset_ = file_.offset();
  large_place_ = file_.place();
  file_.consume(TfRecord::kHeader);
  const bool known = next_value_ == 0 && event_offset_ == first_offset_;
  const uint64_t first_value = known ? known_values_ : std::exchange(next_value_, 0);
  sieve_.start(payload_size, first_value);
  uint32_t crc = 0;
  std::optional<Error> passing;
  const auto fill = [&] {
    const auto filled = file_.fill(false);
    if (!filled) passing = filled.error();
    return filled && *filled == GrowingFile::Fill::more;
  };
  const auto give_up = [&] {
    if (!passing) return fail("a record cannot be read to its end");
    file_.seek(large_place_);
    if (!known) next_value_ = first_value;
    return put_off(*passing);
  };
  for (uint64_t left = payload_size; left > 0;) {
    const std::string_view piece = file_.unread().substr(0, static_cast<size_t>(std::min<uint64_t>(left, SIZE_MAX)));
    crc = crc32c(piece, crc);
    sieve_.add(piece);
    left -= piece.size();
    file_.consume(piece.size());
    if (left > 0 && !fill()) return give_up();
    if (file_.beginnings() != beginnings) return Next::nothing;
  }
  while (file_.unread().size() < TfRecord::kFooter)
    if (!fill()) return give_up();
  if (file_.beginnings() != beginnings) return Next::nothing;
  const bool right = is_masked_crc(file_.unread(), crc);
  file_.consume(TfRecord::kFooter);
  std::string_view payload;
  if (right && sieve_.finish(payload) && parse_event(payload, event)) {
    event.first_value = first_value;
    event.continues = sieve_.overflowed();
    if (event.continues) next_value_ = sieve_.end_value();
    return Next::event;
  }
  ++bad_records_;
  log::warn((right ? "an event of " + file_.path() + " cannot be decoded"
                   : "the checksum of a record of " + file_.path() + " is wrong") +
            "; it is passed over");
  return Next::nothing;
}

EventFile::Next EventFile::look() {
  const auto filled = file_.fill(false);
  return filled ? Next::nothing : put_off(filled.error());
}

// A file with many tags is mostly records of others: told by the first letter, before anything else is decoded.
bool EventFile::is_of_another(std::string_view payload) const {
  const std::string_view tag = plain_tag(payload);
  return !tag.empty() && !(*letters_)[static_cast<unsigned char>(tag[0])];
}

EventFile::Next EventFile::next(Event& event, bool at_end) {
  constexpr int kMostSkipped = 4096;  // then the caller may look at the clock
  if (next_value_ > 0) file_.seek(large_place_);
  for (int skipped = 0;;) {
    const TfRecord record = first_record(file_.unread());
    switch (record.state) {
      case TfRecord::State::complete: {
        event_offset_ = file_.offset();
        event_size_ = static_cast<size_t>(record.size);
        large_place_.reset();
        file_.consume(event_size_);
        if (letters_ != nullptr && skipped < kMostSkipped && is_of_another(record.payload)) {
          ++skipped;
          continue;
        }
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
          if (file_.offset() + record.size > file_.size()) return Next::nothing;
          const Next read = next_large(record, event);
          if (read != Next::nothing) return read;
          continue;
        }
        break;
    }
    const auto filled = file_.fill(at_end);
    if (!filled) return put_off(filled.error());
    if (*filled != GrowingFile::Fill::more) return Next::nothing;
  }
}

}  // namespace tacho
