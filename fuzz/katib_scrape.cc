// A scraped page in both formats, fed in parts.
#include <string>

#include "katib/read/exposition.h"
#include "katib/read/prometheus_source.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::ReaderOptions options;
  options.metrics = {"loss", "a{le=\"0.5\"}", "x"};
  options.step_metric = "step";
  auto source = std::move(*tacho::PrometheusSource::create(options));
  size_t rows = 0;
  const auto take = [&](tacho::MetricRow&& row) {
    require(!row.name.empty() && !row.value.empty() && !row.time_stamp.empty());
    ++rows;
  };
  for (const char* type : {"", "application/openmetrics-text"}) {
    source.begin(1'000'000'000, type);
    for (size_t at = 0; at < text.size(); at += 7) source.feed(text.substr(at, 7));
    (void)source.end(take);
  }
  source.finish(take);
  require(rows <= 3 * 3);
  require(static_cast<bool>(source.restore(source.state())));
  tacho::ExpositionSample sample;
  for (const auto format : {tacho::Exposition::text, tacho::Exposition::openmetrics})
    if (tacho::parse_exposition(text, format, sample) == tacho::ExpositionLine::sample)
      require(is_inside(sample.name, text) && is_inside(sample.labels, text) && is_inside(sample.value, text) &&
              is_inside(sample.time, text));
}
