// Draws a LiveView on stdout: over the screen again and again on a terminal, else a line a sample. Not thread-safe.
#pragma once
#include "os/line_file.h"
#include "report/live_view.h"

namespace tacho {

class TopScreen {
 public:
  static Result<TopScreen> open(bool color);
  Status draw(const LiveView& view);

 private:
  explicit TopScreen(LineFile out) : out_(std::move(out)) {}
  LineFile out_;
  bool terminal_ = false, color_ = false, drawn_ = false;
};

}  // namespace tacho
