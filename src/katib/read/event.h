// TensorBoard's event files as bytes: the TFRecord framing, and what an Event and its Summary hold. Pure; views into
// the input; no allocation.
#pragma once
#include <cstdint>
#include <string_view>

#include "katib/read/wire.h"

namespace tacho {

// length u64 LE · masked CRC-32C of the length · payload · masked CRC-32C of the payload
struct TfRecord {
  enum class State { complete, incomplete, bad_length, bad_payload };
  static constexpr size_t kHeader = 12, kFooter = 4;
  State state = State::incomplete;
  uint64_t size = 0;         // with header and footer, once the length is known to be right; else 0
  std::string_view payload;  // when complete
};
TfRecord first_record(std::string_view bytes);
// As TensorFlow stores a CRC: rotated and offset, since a CRC over bytes that hold CRCs is weak.
uint32_t masked_crc(std::string_view bytes);
// Whether `bytes` begin with that CRC as it is stored.
bool is_masked_crc(std::string_view bytes, uint32_t crc);

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string_view file_version;  // "brain.Event:2", in the first record
  bool session_start = false;
  bool has_summary = false;
  std::string_view summary;        // the first one; a writer makes no second
  std::string_view after_summary;  // the fields behind it
  // A large record comes as several events: this one has its values from this number on, and there are more.
  uint64_t first_value = 0;
  bool continues = false;
};
// False when the bytes are no Event.
bool parse_event(std::string_view payload, Event& event);
// The tag of an event that is one scalar in the layout of nearly every writer; empty for any other event.
std::string_view plain_tag(std::string_view payload);
// "brain.Event:2" → 2; −1 when there is no number.
double file_version_number(std::string_view text);

struct SummaryValue {
  enum class Kind { other, simple, tensor };
  std::string_view tag;
  Kind kind = Kind::other;
  float simple = 0;
  std::string_view tensor;
};

// The values of an event, one after the other.
class SummaryValues {
 public:
  explicit SummaryValues(const Event& event) : values_(event.summary), summaries_(event.after_summary) {}
  // Passes over values that cannot be decoded.
  bool next(SummaryValue& value);

 private:
  WireReader values_;
  WireReader summaries_;  // further ones
};

}  // namespace tacho
