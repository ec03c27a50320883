// Event files: records, events, summaries and tensors.
#include <string>

#include "katib/event.h"
#include "katib/event_number.h"
#include "katib/purge.h"
#include "target.h"

namespace {

void parse(std::string_view payload, uint64_t offset, tacho::PurgeLog& purged) {
  tacho::Event event;
  if (!tacho::parse_event(payload, event)) return;
  require(is_inside(event.file_version, payload) && is_inside(event.summary, payload) && is_inside(event.after_summary, payload));
  purged.see(event, offset);
  tacho::SummaryValues values(event);
  for (tacho::SummaryValue value; values.next(value);) {
    require(is_inside(value.tag, payload) && is_inside(value.tensor, payload));
    std::string number;
    if (value.kind == tacho::SummaryValue::Kind::simple) tacho::put_number(number, value.simple);
    else if (value.kind == tacho::SummaryValue::Kind::tensor) tacho::put_tensor_scalar(number, value.tensor);
    require(number.size() < 400);
    purged.removed(value.tag, event.step, offset);
  }
}

}  // namespace

void fuzz_one(std::string_view text) {
  tacho::PurgeLog purged;
  uint64_t offset = 0;
  for (std::string_view rest = text;;) {
    const tacho::TfRecord record = tacho::first_record(rest);
    if (record.state != tacho::TfRecord::State::complete) break;
    parse(record.payload, offset, purged);
    offset += record.size;
    rest.remove_prefix(record.size);
  }
  // Few inputs have a right checksum: the same bytes without the framing.
  parse(text, offset, purged);
  std::string number;
  tacho::put_tensor_scalar(number, text);
}
