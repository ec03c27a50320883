#include "katib/model/collector_kinds.h"

#include <algorithm>

#include "base/text.h"

namespace tacho {
namespace {

using Source = CollectorKind::Source;
constexpr bool kTakesPath = true, kFolder = true, kTakesFormat = true, kPrinted = true;
constexpr std::string_view kLogger = "metrics-logger-and-collector", kPlain = "metrics-collector";
constexpr std::string_view kLog = "/var/log/katib/metrics.log", kFileProgram = "file-metricscollector";

// clang-format off
constexpr CollectorKind kCollectorKinds[] = {
    {"StdOut", {"stdoutcollector"}, Source::log, kLogger,
     kLog, !kTakesPath, !kFolder, "TEXT", !kTakesFormat, kPrinted, "", kFileProgram,
     "what the trainer prints, in the file that the wrapper writes", "`-path FILE -format TEXT`"},
    {"File", {"filecollector"}, Source::log, kLogger,
     kLog, kTakesPath, !kFolder, "TEXT", kTakesFormat, !kPrinted, "", kFileProgram,
     "a log of the trainer's own, lines of text or of JSON", "`-path FILE -format TEXT\\|JSON`"},
    {"TensorFlowEvent", {"tfeventcollector", "tensorfloweventcollector"}, Source::event_files, kPlain,
     "/var/log/katib/tfevent/", kTakesPath, kFolder, "", !kTakesFormat, !kPrinted, "/log", "tfevent-metricscollector",
     "a folder of event files, with everything below it; no TensorFlow is needed", "`-path FOLDER`"},
    {"PrometheusMetric", {"prometheusmetriccollector"}, Source::endpoint, kPlain,
     "/var/log/katib", !kTakesPath, kFolder, "", !kTakesFormat, !kPrinted, "", "",
     "the trainer's HTTP endpoint, text 0.0.4 or OpenMetrics", "`--http-port 8080 --http-path /metrics` …"},
    {"Custom", {"customcollector"}, Source::container, "",
     "", kTakesPath, !kFolder, "", !kTakesFormat, !kPrinted, "", "",
     "what your own container reads; see below", ""},
    {"Push", {"none", "nonecollector"}, Source::trainer, "",
     "", kTakesPath, !kFolder, "", !kTakesFormat, !kPrinted, "", "",
     "nothing: the trainer calls the DB manager itself; `--kind Push` says so and ends", ""},
};
// clang-format on

}  // namespace

std::span<const CollectorKind> collector_kinds() { return kCollectorKinds; }

const CollectorKind& usual_collector_kind() { return kCollectorKinds[0]; }

const CollectorKind& collector_kind_of(Source source) {
  return *std::find_if(std::begin(kCollectorKinds), std::end(kCollectorKinds),
                       [&](const CollectorKind& kind) { return kind.source == source; });
}

const CollectorKind* find_collector_kind(std::string_view text) {
  const std::string word = lower(trim(text));
  if (word.empty()) return nullptr;
  for (const CollectorKind& kind : kCollectorKinds) {
    if (lower(kind.name) == word ||
        std::find(kind.spellings.begin(), kind.spellings.end(), word) != kind.spellings.end())
      return &kind;
  }
  return nullptr;
}

std::string collector_kind_names() {
  std::string out;
  for (const CollectorKind& kind : kCollectorKinds) {
    if (!out.empty()) out += &kind == &std::end(kCollectorKinds)[-1] ? " or " : ", ";
    out += kind.name;
  }
  return out;
}

}  // namespace tacho
