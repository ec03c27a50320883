#include "katib/prometheus_source.h"
#include "katib/readers.h"
#include "katib/stop_rules.h"
namespace tacho {
struct PrometheusSource::State {};
PrometheusSource::PrometheusSource(PrometheusSource&&) noexcept = default;
PrometheusSource& PrometheusSource::operator=(PrometheusSource&&) noexcept = default;
PrometheusSource::~PrometheusSource() = default;
Result<PrometheusSource> PrometheusSource::create(ReaderOptions) { return Error{}; }
void PrometheusSource::begin(int64_t, std::string_view) {}
bool PrometheusSource::feed(std::string_view) { return true; }
Status PrometheusSource::end(const Reader::Take&) { return ok(); }
void PrometheusSource::abandon() {}
void PrometheusSource::finish(const Reader::Take&) {}
std::string PrometheusSource::state() const { return ""; }
Status PrometheusSource::restore(std::string_view) { return ok(); }
std::unique_ptr<Reader> make_tfevent_reader(std::string, ReaderOptions) { return nullptr; }
Result<StopRules> StopRules::parse(const std::vector<std::string>&, const std::vector<std::string>&, ObjectiveType) { return StopRules(); }
bool StopRules::observe(const MetricRow&) { return false; }
void StopRules::reset() {}
std::string StopRules::describe() const { return ""; }
std::string StopRules::state() const { return ""; }
Status StopRules::restore(std::string_view) { return ok(); }
}
