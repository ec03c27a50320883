// A run whose meta.json is missing or cannot be read, so that nobody knows where it goes. While its owner lives, the
// file may still come; at the end an empty folder is removed, and rows stay as they are. Not thread-safe.
#pragma once
#include <memory>
#include <string>

#include "deliver/delivery.h"

namespace tacho {

class Undescribed final : public Delivery {
 public:
  Undescribed(SpoolRun run, Role role, Delivering& shared) : run_(std::move(run)), role_(role), shared_(shared) {}

  Step step() override;
  void finish(int64_t deadline_ns) override;
  bool is_registered() const override { return known_ && known_->is_registered(); }
  bool sends_too(const SpoolMeta& leftover) const override { return known_ && known_->sends_too(leftover); }
  const std::string& reason() const override { return known_ ? known_->reason() : reason_; }
  int64_t cancel_at_ns() const override { return known_ ? known_->cancel_at_ns() : deadline_ns_; }

 private:
  SpoolRun run_;
  Role role_;
  Delivering& shared_;
  std::unique_ptr<Delivery> known_;  // once it is described
  std::string reason_;
  int64_t deadline_ns_ = 0;
  bool ended_ = false;
};

}  // namespace tacho
