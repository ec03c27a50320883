// Kind PrometheusMetric: turns successive scrapes into rows. The HTTP client feeds the body as it comes; only the
// requested samples are kept. Not thread-safe.
//   source.begin(now_ns, content_type); source.feed(part)…; source.end(take);     // a scrape with status 200
//   source.abandon();                                                             // instead of end(): it broke off
//   source.finish(take);                                                          // training is over
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "katib/read/reader.h"
#include "katib/read/reader_options.h"

namespace tacho {

class PrometheusSource {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // A name in options.metrics or options.step_metric that is no selector is an Error of code invalid (exit 2).
  static Result<PrometheusSource> create(ReaderOptions options);
  PrometheusSource(PrometheusSource&&) noexcept;
  PrometheusSource& operator=(PrometheusSource&&) noexcept;
  ~PrometheusSource();

  // `content_type` is the header's value, empty when there was none; `now_ns` (wall clock) is when the scrape began.
  void begin(int64_t now_ns, std::string_view content_type);
  // False: the body is over 64 MiB, stop reading; end() will then discard it.
  bool feed(std::string_view part);
  // Rows of new samples, in the order of -m. An incomplete body (OpenMetrics without "# EOF", over 64 MiB) is an Error
  // and changes nothing. A line that cannot be understood is passed over and counted.
  Status end(const Reader::Take& take);
  void abandon();
  // The last seen samples that made no row yet, at the end of training.
  void finish(const Reader::Take& take);

  // Which sample of each metric was the last to make a row, as JSON for the state file.
  std::string state() const;
  Status restore(std::string_view json);
  ReaderCounts counts() const;

 private:
  struct State;
  explicit PrometheusSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tacho
