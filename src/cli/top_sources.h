// Where tacho top has its figures from: the machine or a process, sampled here, or the files of a run that somebody
// records. Not thread-safe.
#pragma once
#include <functional>
#include <memory>

#include "engine/settings.h"
#include "job/job.h"
#include "report/live/live_picture.h"
#include "report/store/input.h"

namespace tacho {

class TopSource {
 public:
  using Take = std::function<bool(const Row& row, bool newest)>;
  virtual ~TopSource() = default;
  // Figures since the last look; `take` is called for each new row, and false ends it all. False: nothing is to come.
  virtual bool look(const Take& take) = 0;
  virtual LiveState& state() = 0;
  virtual const Schema& schema() const = 0;
  virtual bool waits_first() const = 0;  // the first figures need an interval
};

Result<std::unique_ptr<TopSource>> sampled_source(const Settings& settings, Job& job);
Result<std::unique_ptr<TopSource>> recorded_source(const Input& input);

}  // namespace tacho
