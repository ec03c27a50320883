#include "katib/read/prometheus_source.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "katib/read/event_number.h"
#include "katib/read/exposition.h"
#include "katib/read/series_selector.h"
#include "katib/read/utc_time.h"
#include "katib/read/value_rule.h"

namespace tacho {
namespace {

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kListed = 4;  // series named in a warning

struct Seen {
  std::string value, time;  // as written
};

// What one scrape holds of one name: the series without labels, and those with.
struct Series {
  std::optional<Seen> bare;
  size_t labelled = 0;
  Seen first;
  std::vector<std::string> names;  // for the warning

  void clear() {
    bare.reset();
    labelled = 0;
    names.clear();
  }
};

// One requested metric, or the step metric.
struct Request {
  std::string text;
  SeriesSelector selector;
  std::string total;      // name_total
  Series exact, counter;  // of the present scrape
  bool warned = false;

  // What made the last row, and what was seen last.
  bool has_row = false;
  std::string row_value, row_time, row_step;
  bool pending = false;  // the last sample seen has made no row
  Seen last;
  std::string last_step;
  std::optional<TimeStamp> last_row_time;
};

// "0x1p-2" as a decimal; others as they are written.
std::string plain_number(std::string_view text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (text.size() < sign + 3 || (text[sign + 1] | 0x20) != 'x') return std::string(text);
  double value = 0;
  std::from_chars(text.data() + sign + 2, text.data() + text.size(), value, std::chars_format::hex);
  std::string plain;
  put_number(plain, text[0] == '-' ? -value : value);
  return plain;
}

std::optional<int64_t> whole_number(const std::string& text) {
  const auto value = parse_double(text.starts_with('+') ? text.substr(1) : text);
  constexpr double kExact = 9'007'199'254'740'992.0;
  if (!value || std::abs(*value) > kExact || *value != std::trunc(*value)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

}  // namespace

struct PrometheusSource::State {
  ReaderOptions options;
  ValueRule values{NonFinite::drop};
  std::vector<Request> requests;  // in the order of -m; the step metric last
  uint64_t bad_lines = 0;

  // The present scrape.
  Exposition format = Exposition::text;
  int64_t begun_ns = 0;
  size_t bytes = 0;
  bool ended = false, too_long = false, skipping = false;
  std::string rest;  // of a line that is not complete yet

  bool has_step() const { return !options.step_metric.empty(); }
  size_t metric_count() const { return requests.size() - (has_step() ? 1 : 0); }

  void parse_line(std::string_view line) {
    if (line.empty() || ended) return;
    ExpositionSample sample;
    const std::string_view name = sample_name(line);
    if (name.empty()) {
      const ExpositionLine kind = parse_exposition(line, format, sample);
      ended = kind == ExpositionLine::end;
      if (kind == ExpositionLine::bad) bad_line(line);
      return;
    }
    bool parsed = false;
    for (Request& request : requests) {
      Series* series = name == request.selector.name() ? &request.exact
                       : name == request.total         ? &request.counter
                                                       : nullptr;
      if (series == nullptr) continue;
      if (!parsed && parse_exposition(line, format, sample) != ExpositionLine::sample) return bad_line(line);
      parsed = true;
      store(request, *series, sample);
    }
  }

  void store(const Request& request, Series& series, const ExpositionSample& sample) const {
    if (request.selector.has_matchers() && !request.selector.matches(sample.labels)) return;
    Seen seen{plain_number(sample.value), std::string(sample.time)};
    if (trim(sample.labels).empty() && !request.selector.has_matchers()) {
      series.bare = std::move(seen);
      return;
    }
    if (series.labelled++ == 0) series.first = std::move(seen);
    if (series.names.size() < kListed)
      series.names.push_back(std::string(sample.name) + "{" + std::string(sample.labels) + "}");
  }

  void bad_line(std::string_view line) {
    if (bad_lines++ > 0) return;
    log::warn("a line of the scraped metrics cannot be understood and is passed over, as will be others: " +
              valid_utf8(line.substr(0, 80)));
  }

  // The sample that a request means, if it is one and only one.
  const Seen* resolve(Request& request) {
    for (Series* series : {&request.exact, &request.counter}) {
      if (series->bare) return &*series->bare;
      if (series->labelled == 1) return &series->first;
      if (series->labelled == 0) continue;
      if (!std::exchange(request.warned, true)) {
        std::string list;
        for (const std::string& name : series->names) list += (list.empty() ? "" : ", ") + valid_utf8(name);
        log::warn("metric " + request.text + " fits " + std::to_string(series->labelled) +
                  " series, none is reported: " + list + (series->labelled > kListed ? ", …" : "") +
                  " (name one by its labels)");
      }
      return nullptr;
    }
    return nullptr;
  }

  TimeStamp row_time(const Seen& seen) const {
    if (const auto own = sample_time(seen.time, format); own && !seen.time.empty())
      if (const auto time = utc_microseconds(own->first, own->second)) return *time;
    return utc_microseconds(begun_ns / kNsPerSec, begun_ns % kNsPerSec).value_or(zero_time());
  }

  void pass_on(Request& request, const Reader::Take& take) {
    request.pending = false;
    request.has_row = true;
    request.row_value = request.last.value;
    request.row_time = request.last.time;
    request.row_step = request.last_step;
    if (const auto value = values.judge(request.text, request.last.value))
      take({*request.last_row_time, request.text, *value, whole_number(request.last_step)});
  }

  void finish_scrape(const Reader::Take& take) {
    const Seen* step = has_step() ? resolve(requests.back()) : nullptr;
    for (size_t i = 0; i < metric_count(); ++i) {
      Request& request = requests[i];
      const Seen* seen = resolve(request);
      if (seen == nullptr) continue;
      request.last = *seen;
      request.last_step = step != nullptr ? step->value : "";
      request.last_row_time = row_time(*seen);
      const bool other_value = seen->time.empty() ? request.row_value != seen->value || !request.row_time.empty()
                                                  : request.row_time != seen->time;
      if (!request.has_row || other_value || request.row_step != request.last_step) pass_on(request, take);
      else request.pending = seen->time.empty();
    }
  }

  void clear_scrape() {
    for (Request& request : requests) {
      request.exact.clear();
      request.counter.clear();
    }
    rest.clear();
    bytes = 0;
    ended = too_long = skipping = false;
  }
};

PrometheusSource::PrometheusSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
PrometheusSource::PrometheusSource(PrometheusSource&&) noexcept = default;
PrometheusSource& PrometheusSource::operator=(PrometheusSource&&) noexcept = default;
PrometheusSource::~PrometheusSource() = default;

Result<PrometheusSource> PrometheusSource::create(ReaderOptions options) {
  auto state = std::make_unique<State>();
  state->values = ValueRule(options.non_finite);
  std::vector<std::string> names = options.metrics;
  if (!options.step_metric.empty()) names.push_back(options.step_metric);
  for (const std::string& name : names) {
    auto selector = SeriesSelector::parse(name);
    if (!selector) return selector.error();
    Request request;
    request.text = name;
    request.total = selector->name() + "_total";
    request.selector = std::move(*selector);
    state->requests.push_back(std::move(request));
  }
  state->options = std::move(options);
  return PrometheusSource(std::move(state));
}

void PrometheusSource::begin(int64_t now_ns, std::string_view content_type) {
  state_->clear_scrape();
  state_->begun_ns = now_ns;
  state_->format = exposition_of(content_type);
}

bool PrometheusSource::feed(std::string_view part) {
  State& state = *state_;
  state.bytes += part.size();
  if (state.bytes > kMostBytes) {
    state.too_long = true;
    state.rest.clear();
    return false;
  }
  while (!part.empty()) {
    const auto* end = static_cast<const char*>(std::memchr(part.data(), '\n', part.size()));
    const std::string_view piece =
        part.substr(0, end == nullptr ? part.size() : static_cast<size_t>(end - part.data()));
    part.remove_prefix(end == nullptr ? part.size() : piece.size() + 1);
    if (state.rest.size() + piece.size() > kLongestLine && !std::exchange(state.skipping, true)) {
      state.rest.append(piece.substr(0, 80));
      state.bad_line(state.rest);
      state.rest.clear();
    }
    if (end == nullptr) {
      if (!state.skipping) state.rest += piece;
    } else if (std::exchange(state.skipping, false)) {
      state.rest.clear();
    } else if (state.rest.empty()) {
      state.parse_line(piece);
    } else {
      state.rest += piece;
      state.parse_line(state.rest);
      state.rest.clear();
    }
  }
  return true;
}

Status PrometheusSource::end(const Reader::Take& take) {
  State& state = *state_;
  if (!state.too_long && !state.rest.empty()) state.parse_line(state.rest);
  const bool incomplete = state.format == Exposition::openmetrics && !state.ended;
  const bool too_long = state.too_long;
  if (!incomplete && !too_long) state.finish_scrape(take);
  state.clear_scrape();
  if (too_long) return Error{Code::invalid, "the scraped metrics are longer than 64 MiB", "", "serve fewer series"};
  if (incomplete)
    return Error{Code::invalid, "the scraped metrics are incomplete: '# EOF' is missing", "", "they are discarded"};
  return ok();
}

void PrometheusSource::abandon() { state_->clear_scrape(); }

void PrometheusSource::finish(const Reader::Take& take) {
  for (size_t i = 0; i < state_->metric_count(); ++i)
    if (state_->requests[i].pending) state_->pass_on(state_->requests[i], take);
}

std::string PrometheusSource::state() const {
  auto json = nlohmann::json::object();
  for (size_t i = 0; i < state_->metric_count(); ++i) {
    const Request& request = state_->requests[i];
    if (request.has_row)
      json[request.text] = {{"value", request.row_value}, {"time", request.row_time}, {"step", request.row_step}};
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status PrometheusSource::restore(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    for (size_t i = 0; i < state_->metric_count(); ++i) {
      Request& request = state_->requests[i];
      if (!json.contains(request.text)) continue;
      const auto& entry = json[request.text];
      request.row_value = entry.at("value").get<std::string>();
      request.row_time = entry.at("time").get<std::string>();
      request.row_step = entry.at("step").get<std::string>();
      request.has_row = true;
    }
  } catch (const nlohmann::json::exception&) {
    return Error{Code::invalid, "the state of the scraped metrics cannot be understood", "", "they begin anew"};
  }
  return ok();
}

ReaderCounts PrometheusSource::counts() const {
  ReaderCounts counts;
  state_->values.count(counts);
  counts.bad_lines = state_->bad_lines;
  return counts;
}

}  // namespace tacho
