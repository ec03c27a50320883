// What the trainer's processes use, as metrics of the trial: tacho's probes over the main process's tree, sampled
// each second, folded into one row per name and interval. A value that cannot be read is absent. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "katib/collect/pod.h"
#include "katib/model/row.h"

namespace tacho {

inline constexpr std::string_view kResourcePrefix = "tacho_";

class Resources {
 public:
  static constexpr int64_t kSampleNs = kNsPerSec;
  static const std::vector<std::string>& all_names();

  // `names`: the wanted ones; others are not measured.
  Resources(Roots roots, std::vector<std::string> names, int64_t interval_ns);
  ~Resources();

  void follow(const ProcessId& main);
  bool following() const;
  // At deadline_ns(): takes a sample, and makes rows when the interval is over. With `last` also the rows of an
  // unfinished interval.
  void sample(int64_t now_ns, bool last, const std::function<void(const RowView&)>& take);
  int64_t deadline_ns() const;
  // All CPU time since the main process began, where somebody knows it exactly at the end.
  void know_cpu(int64_t cpu_ns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tacho
