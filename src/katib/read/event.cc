#include "katib/read/event.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"

namespace tacho {
namespace {

template <class Int>
Int load(const char* at) {
  Int value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint32_t mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

using Type = WireField::Type;

// 0a tag · 15 simple_value, and nothing else: how nearly every scalar of old is written.
bool parse_plain_value(std::string_view bytes, SummaryValue& value) {
  WireReader in(bytes);
  uint64_t number = 0;
  if (!in.take_key('\x0a') || !in.take_bytes(value.tag) || !in.take_key('\x15') || in.rest().size() != 4 ||
      !in.fixed(number, 4))
    return false;
  value.kind = SummaryValue::Kind::simple;
  value.simple = std::bit_cast<float>(static_cast<uint32_t>(number));
  value.tensor = {};
  return true;
}

// Value: 1 tag · 2 simple_value float · 7 node_name · 8 tensor
bool parse_value(std::string_view bytes, SummaryValue& value) {
  if (parse_plain_value(bytes, value)) return true;
  value = {};
  std::string_view node_name;
  WireReader fields(bytes);
  for (WireField field; fields.next(field);) {
    if (field.number == 1 && field.type == Type::bytes) {
      value.tag = field.bytes;
    } else if (field.number == 2 && field.type == Type::fixed32) {
      value.kind = SummaryValue::Kind::simple;
      value.simple = field.as_float();
    } else if (field.number == 7 && field.type == Type::bytes) {
      node_name = field.bytes;
    } else if (field.number == 8 && field.type == Type::bytes) {
      value.kind = SummaryValue::Kind::tensor;
      value.tensor = field.bytes;
    }
  }
  // Tensor summaries of old have the name of their node only.
  if (value.tag.empty() && value.kind == SummaryValue::Kind::tensor) value.tag = node_name;
  return !fields.broken();
}

// 09 wall_time · 10 step · 2a summary, and nothing else.
bool parse_plain_event(std::string_view payload, Event& event) {
  WireReader in(payload);
  uint64_t number = 0;
  if (!in.take_key('\x09') || !in.fixed(number, 8)) return false;
  event.wall_time = std::bit_cast<double>(number);
  if (in.take_key('\x10')) {
    if (!in.varint(number)) return false;
    event.step = static_cast<int64_t>(number);
  }
  event.has_summary = in.take_key('\x2a') && in.take_bytes(event.summary) && in.rest().empty();
  return event.has_summary;
}

bool is_session_start(std::string_view session_log) {
  WireReader fields(session_log);
  bool start = false;
  for (WireField field; fields.next(field);)
    if (field.number == 1 && field.type == Type::varint) start = field.value == 1;
  return start;
}

}  // namespace

uint32_t masked_crc(std::string_view bytes) { return mask(crc32c(bytes)); }

bool is_masked_crc(std::string_view bytes, uint32_t crc) {
  return bytes.size() >= 4 && load<uint32_t>(bytes.data()) == mask(crc);
}

TfRecord first_record(std::string_view bytes) {
  TfRecord record;
  if (bytes.size() < TfRecord::kHeader) return record;
  const auto length = load<uint64_t>(bytes.data());
  constexpr uint64_t kAbsurd = uint64_t{1} << 48;
  if (masked_crc(bytes.substr(0, 8)) != load<uint32_t>(bytes.data() + 8) || length > kAbsurd) {
    record.state = TfRecord::State::bad_length;
    return record;
  }
  record.size = length + TfRecord::kHeader + TfRecord::kFooter;
  if (bytes.size() < record.size) return record;
  record.payload = bytes.substr(TfRecord::kHeader, length);
  const bool right = masked_crc(record.payload) == load<uint32_t>(bytes.data() + TfRecord::kHeader + length);
  record.state = right ? TfRecord::State::complete : TfRecord::State::bad_payload;
  return record;
}

// Event: 1 wall_time double · 2 step int64 · 3 file_version · 5 summary · 7 session_log
bool parse_event(std::string_view payload, Event& event) {
  event = {};
  if (parse_plain_event(payload, event)) return true;
  event = {};
  WireReader fields(payload);
  for (WireField field; fields.next(field);) {
    if (field.number == 1 && field.type == Type::fixed64) {
      event.wall_time = field.as_double();
    } else if (field.number == 2 && field.type == Type::varint) {
      event.step = static_cast<int64_t>(field.value);
    } else if (field.number == 3 && field.type == Type::bytes) {
      event.file_version = field.bytes;
    } else if (field.number == 5 && field.type == Type::bytes) {
      if (!std::exchange(event.has_summary, true)) {
        event.summary = field.bytes;
        event.after_summary = fields.rest();
      }
    } else if (field.number == 7 && field.type == Type::bytes) {
      event.session_start = is_session_start(field.bytes);
    }
  }
  return !fields.broken();
}

// 09 wall_time · 10 step · 2a { 0a { 0a tag · 15 simple_value } }, all of less than 128 bytes
std::string_view plain_tag(std::string_view payload) {
  size_t at = 9;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(payload[i]); };
  if (payload.size() < at + 13 || payload.size() > 127 || payload[0] != '\x09') return {};
  if (payload[at] == '\x10') {
    while (++at < payload.size() && byte(at) >= 0x80) {}
    ++at;
  }
  // 2a size 0a size 0a size tag 15 float
  if (at + 6 > payload.size() || payload[at] != '\x2a' || byte(at + 1) != payload.size() - at - 2 ||
      payload[at + 2] != '\x0a' || byte(at + 3) != payload.size() - at - 4 || payload[at + 4] != '\x0a')
    return {};
  const size_t size = byte(at + 5);
  if (at + 6 + size + 5 != payload.size() || payload[at + 6 + size] != '\x15') return {};
  return payload.substr(at + 6, size);
}

double file_version_number(std::string_view text) {
  constexpr std::string_view kMark = "brain.Event:";
  if (const size_t at = text.rfind(kMark); at != std::string_view::npos) text.remove_prefix(at + kMark.size());
  return parse_double(text).value_or(-1);
}

bool SummaryValues::next(SummaryValue& value) {
  WireField field;
  for (;;) {
    for (std::string_view bytes; values_.take_key('\x0a') && values_.take_bytes(bytes);)
      if (parse_value(bytes, value)) return true;
    while (!values_.broken() && values_.next(field))
      if (field.number == 1 && field.type == Type::bytes && parse_value(field.bytes, value)) return true;
    do
      if (!summaries_.next(field)) return false;
    while (field.number != 5 || field.type != Type::bytes);
    values_ = WireReader(field.bytes);
  }
}

}  // namespace tacho
