// What the delivery of every kind does with the run in the spool: at its end a torn line is cut off and the open
// segment is sealed, once; state.json is read; what stays behind is reported. The derived class says in proceed() what
// is due next. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"
#include "deliver/delivery.h"
#include "deliver/thin_out.h"

namespace tacho {

class SpooledDelivery : public Delivery {
 public:
  Step step() final;
  void finish(int64_t deadline_ns) override;
  const std::string& reason() const final { return reason_; }
  int64_t cancel_at_ns() const override { return deadline_ns_; }

 protected:
  static constexpr int64_t kOpenAgain_ns = 300 * kNsPerSec;  // a place whose settings are wrong is asked again

  // `form` is the ending of the run's segments; at the end no pause is longer than `longest_pause_ns`.
  SpooledDelivery(SpoolRun run, Role role, Delivering& shared, std::string_view form, int64_t longest_pause_ns);

  // What is due. After finish() the segments are sealed and whole.
  virtual Step proceed() = 0;

  // state.json by its parser: a new state if there is none, or if it cannot be read (with a message). An Error if a
  // newer tacho wrote it.
  template <class State>
  Result<State> read_state(Result<State> (*parse)(std::string_view)) {
    const auto text = run_.state();
    auto state = text ? parse(*text) : Result<State>(State{});
    if (state || state.error().code != Code::invalid) return state;
    tell_of_state(state.error());
    return State{};
  }

  // Memory must stay bounded also where nothing can be reached: merges rows of a spool that had to go there, but none
  // of segments that are `in_hands`.
  void bound_memory(const std::function<bool(uint32_t segment)>& in_hands, const RowsForm& form = kCsvRows);
  virtual Step left(std::string reason);
  Step give_up(const std::string& why);  // the run stays, for a reason that was not reported yet
  Step wait_until(int64_t wake_ns) const;
  Step removed();  // all of it arrived
  bool is_late() const { return deadline_ns_ > 0 && now_ns() >= deadline_ns_; }
  Step left_late() { return left(reason_.empty() ? "the time for it is over" : reason_); }
  int64_t now_ns() const { return shared_.clock.monotonic_ns(); }

  SpoolRun run_;
  Role role_;
  Delivering& shared_;
  std::string reason_;
  int64_t deadline_ns_ = 0;
  bool ended_ = false;

 private:
  Status recover();
  void tell_of_state(const Error& error);

  std::string_view form_;
  int64_t longest_pause_ns_;
  bool recovered_ = false;
};

}  // namespace tacho
