// What a person sees on stderr while a session runs and when it ends.
#pragma once
#include <cstdint>
#include <optional>

#include "engine/settings.h"
#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// A line every so often, when asked for.
class Progress {
 public:
  void begin(std::optional<int64_t> every_ns, int64_t now_ns);
  void show(const Run& run, const Summary& summary, int64_t now_ns);

 private:
  std::optional<int64_t> every_ns_;
  int64_t start_ns_ = 0, next_ns_ = 0;
};

// By --summary: nothing, one line, several, or run.json's text. shown_id: the id as people see it.
void print_summary(const Settings& settings, const Run& run, const Summary& summary, const std::string& shown_id,
                   std::string_view limited);

}  // namespace tacho
