#include "deliver/spooled_delivery.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tacho {

SpooledDelivery::SpooledDelivery(SpoolRun run, Role role, Delivering& shared, std::string_view form,
                                 int64_t longest_pause_ns)
    : run_(std::move(run)), role_(role), shared_(shared), form_(form), longest_pause_ns_(longest_pause_ns) {}

void SpooledDelivery::finish(int64_t deadline_ns) {
  ended_ = true;
  deadline_ns_ = deadline_ns;
}

Step SpooledDelivery::step() {
  if (ended_)
    if (const Status status = recover(); !status) return give_up(status.error().message());
  return proceed();
}

// What is open is sealed when nobody writes any more. Without that the run must not be closed: rows would be missing.
Status SpooledDelivery::recover() {
  if (recovered_) return ok();
  std::vector<Torn> cut;
  const Status status = run_.recover(form_, cut);
  for (const Torn& torn : cut)
    shared_.notices.must("cut off " + std::to_string(torn.bytes) +
                         " bytes of a row that was not written completely: " + torn.path);
  recovered_ = static_cast<bool>(status);
  return status;
}

void SpooledDelivery::tell_of_state(const Error& error) {
  shared_.notices.must("how far the delivery came is not known any more; all of it is sent again: " + error.message() +
                       ", " + run_.folder());
}

void SpooledDelivery::bound_memory(const std::function<bool(uint32_t segment)>& in_hands, const RowsForm& form) {
  if (const int64_t gone = thin_out(run_, in_hands, form); gone > 0)
    shared_.notices.must("the spool in memory is full: " + std::to_string(gone) +
                         " of the oldest rows were merged into their neighbours; totals and peaks stay true");
}

Step SpooledDelivery::left(std::string reason) {
  reason_ = std::move(reason);
  return {Step::Kind::left, 0};
}

Step SpooledDelivery::give_up(const std::string& why) {
  shared_.notices.warn("given up", why + "; the rows are kept");
  return left(why);
}

Step SpooledDelivery::wait_until(int64_t wake_ns) const {
  if (ended_) wake_ns = std::min(wake_ns, now_ns() + longest_pause_ns_);
  if (deadline_ns_ > 0) wake_ns = std::min(wake_ns, deadline_ns_);
  return {Step::Kind::wait, wake_ns};
}

Step SpooledDelivery::removed() {
  if (run_.has_unread()) return give_up("rows of the run are on a disk that has just come back");
  remove_delivered(run_, shared_.notices);
  return {Step::Kind::done, 0};
}

}  // namespace tacho
