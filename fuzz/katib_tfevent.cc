// Event files: records, events, summaries and tensors.
#include <algorithm>
#include <string>

#include "katib/read/event.h"
#include "katib/read/event_number.h"
#include "katib/read/event_sieve.h"
#include "katib/read/purge.h"
#include "target.h"

namespace {

void parse(std::string_view payload, uint64_t offset, tacho::PurgeLog& purged) {
  tacho::Event event;
  const std::string_view tag = tacho::plain_tag(payload);
  if (!tacho::parse_event(payload, event)) return require(tag.empty());
  if (!tag.empty()) {  // then it is all that there is
    tacho::SummaryValues all(event);
    tacho::SummaryValue only, more;
    require(all.next(only) && only.tag == tag && only.kind == tacho::SummaryValue::Kind::simple && !all.next(more));
  }
  require(is_inside(event.file_version, payload) && is_inside(event.summary, payload) &&
          is_inside(event.after_summary, payload));
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

// What is left of a record in pieces is what is read of the whole, as long as nothing in it is large.
void sieve(std::string_view payload) {
  tacho::EventSieve sieve;
  sieve.start(payload.size());
  for (std::string_view rest = payload; !rest.empty(); rest.remove_prefix(std::min<size_t>(rest.size(), 7)))
    sieve.add(rest.substr(0, 7));
  std::string_view left;
  tacho::Event whole, small;
  if (!sieve.finish(left)) return;
  require(tacho::parse_event(payload, whole) && tacho::parse_event(left, small));
  if (payload.size() > tacho::EventSieve::kLargestField) return;
  require(whole.step == small.step && whole.session_start == small.session_start &&
          whole.file_version == small.file_version);
  tacho::SummaryValues one(whole), two(small);
  for (tacho::SummaryValue a, b; one.next(a);)
    require(two.next(b) && a.tag == b.tag && a.kind == b.kind && a.tensor == b.tensor);
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
  sieve(text);
  std::string number;
  tacho::put_tensor_scalar(number, text);
}
