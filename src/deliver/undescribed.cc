#include "deliver/undescribed.h"

#include "base/units.h"
#include "deliver/kinds.h"

namespace tacho {

void Undescribed::finish(int64_t deadline_ns) {
  ended_ = true;
  deadline_ns_ = deadline_ns;
  if (known_) known_->finish(deadline_ns);
}

Step Undescribed::step() {
  if (known_) return known_->step();
  const auto text = run_.meta();
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  if (const DeliveryKind* kind = meta ? kind_of(*meta) : nullptr) {
    known_ = kind->make(std::move(run_), role_, shared_);
    if (ended_) known_->finish(deadline_ns_);
    return known_->step();
  }
  if (!ended_) return {Step::Kind::wait, shared_.clock.monotonic_ns() + kNsPerSec};
  // Killed before the description was written: there can be no row either.
  if (!meta && meta.error().code == Code::not_available && !run_.has_rows()) {
    remove_delivered(run_, shared_.notices);
    return {Step::Kind::done, 0};
  }
  reason_ = meta ? why_unknown(*meta) : meta.error().message();
  return {Step::Kind::left, 0};
}

}  // namespace tacho
