// Making a collector: readers, rules, streams, and where an earlier one stopped.
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "katib/collect/collector.h"
#include "katib/read/event_rows.h"
#include "katib/read/readers.h"
#include "katib/rpc/tls_files.h"
#include "os/environment.h"

namespace tacho {
namespace {

ReaderOptions reader_options(const CollectOptions& options) {
  ReaderOptions out;
  out.set_profile(options.profile);
  // Arrival times are given later (row_shaper.h), so that the same rows can be made again after a restart.
  out.row_time = RowTime::zero;
  if (options.exact_json_time) out.json_time = *options.exact_json_time ? JsonTime::exact : JsonTime::digits;
  out.non_finite = options.non_finite;
  out.bad_line = options.fail_on_bad_line ? BadLine::fail : BadLine::skip;
  out.report_at_end = options.report_ns == 0;
  out.step_metric = options.step_metric;
  for (const std::string& name : options.metrics)
    if (!name.starts_with(kResourcePrefix)) out.metrics.push_back(name);
  out.filters = options.filters;
  return out;
}

HttpTarget http_target(const CollectOptions& options) {
  HttpTarget out;
  out.tls = options.http_scheme == "https";
  out.host = options.http_host;
  out.port = options.http_port;
  out.path = options.http_path;
  out.ca_file = options.http_ca;
  bool has_accept = false;
  for (const std::string& header : options.http_headers) {
    const size_t separator = header.find_first_of(":=");
    out.headers.emplace_back(trim(std::string_view(header).substr(0, separator)),
                             trim(std::string_view(header).substr(separator + 1)));
    has_accept = has_accept || lower(out.headers.back().first) == "accept";
  }
  if (!has_accept)
    out.headers.emplace_back("Accept",
                             "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1");
  return out;
}

RpcOptions rpc_options(const CollectOptions& options, const std::string& address) {
  RpcOptions out;
  out.address = address;
  out.timeout_ms = std::max<int64_t>(options.rpc_timeout_ns / kNsPerMs, 1);
  out.tls = options.tls;
  out.ca_file = options.tls_ca;
  out.cert_file = options.tls_cert;
  out.key_file = options.tls_key;
  out.server_name = options.tls_server_name;
  out.token_file = options.token_file;
  return out;
}

Result<std::unique_ptr<Reader>> make_file_reader(const CollectOptions& options, ReaderOptions reader) {
  return make_reader(options.kind->source, options.format, options.path, std::move(reader));
}

// What the places of all event files take in the state (collect_state.h).
size_t event_bytes(const CollectOptions& options) {
  if (!options.reads(CollectorKind::Source::event_files)) return 0;
  std::vector<std::string> folders;
  FolderTrouble trouble = FolderTrouble::none;
  size_t bytes = 0;
  for (const FoundFile& file : find_event_files(options.path, folders, trouble))
    bytes += kEventEntryBytes + 2 * file.path.size();
  // Those in a folder that cannot be listed now are there, too.
  return trouble == FolderTrouble::none ? bytes : std::max(bytes, kMostEventFiles * 2 * kEventEntryBytes);
}

}  // namespace

Result<std::unique_ptr<Collector>> Collector::create(CollectOptions options) {
  std::unique_ptr<Collector> self(new Collector(std::move(options)));
  CollectOptions& given = self->options_;
  std::vector<std::string> observed = given.metrics;
  if (given.resources) observed.insert(observed.end(), Resources::all_names().begin(), Resources::all_names().end());
  auto rules = StopRules::parse(given.stop_rules, observed, given.objective_type);
  if (!rules) return rules.error();
  self->rules_ = std::move(*rules);
  self->passive_ = given.passive;
  self->native_ = environment_or("TACHO_SIDECAR") == "native";
  if (const Status status = self->make_readers(); !status) return status.error();

  TrainerOptions trainer;
  trainer.roots = self->roots_;
  trainer.folder = self->folder_;
  trainer.begin_ns = pod_begin_ns(self->roots_);
  trainer.ignored = given.ignored_processes;
  trainer.wait_all = given.wait_all && !self->native_;
  trainer.marker_expected = !given.no_marker;
  trainer.marker_if_wrapped = given.reads(CollectorKind::Source::endpoint) || given.no_marker;
  if (given.is_log()) trainer.evidence = given.path;
  self->trainer_.emplace(std::move(trainer));
  if (self->passive_) {
    log::info("passive: " + given.active_when + " is not met; nothing is reported from here");
    return self;
  }
  if (!self->rules_.empty() && given.early_stop_address.empty())
    log::warn("there are stop rules but no -s-earlystop: the trial is stopped, but cannot be marked as early-stopped");
  if (const Status status = check_rpc_files(rpc_options(given, given.db_address)); !status) return status.error();
  if (!given.tls && !(given.tls_ca.empty() && given.tls_cert.empty() && given.tls_key.empty()))
    log::warn("files for TLS are given, but not --tls: the DB manager is called without encryption (add --tls)");
  auto lock = StateLock::take(self->state_file_.path(), StateLock::kWaitNs, self->signals_.fd());
  if (!lock) return lock.error();
  self->state_lock_ = std::move(*lock);
  self->make_resources();
  self->resume();
  return self;
}

Status Collector::make_readers() {
  ReaderOptions reader = reader_options(options_);
  if (options_.reads(CollectorKind::Source::endpoint)) {
    auto source = PrometheusSource::create(std::move(reader));
    if (!source) return source.error();
    if (!passive_ && options_.http_scheme == "https" && !options_.http_ca.empty())
      if (Status status = check_certificates(options_.http_ca, "--http-ca"); !status) return status;
    if (!passive_) scraper_.emplace(http_target(options_), std::move(*source), options_.scrape_timeout_ns);
    return ok();
  }
  auto source = make_file_reader(options_, reader);
  if (!source) return source.error();
  source_ = std::move(*source);
  reader.report_at_end = false;  // the other one is followed as it grows
  reader.with_times = false;     // rules and the objective need none, and each is read once
  if (options_.is_log() && options_.echo.value_or(true)) {
    auto out = LineFile::open("-");
    if (out) {
      echo_ = std::move(*out);
      reader.echo = [this](std::string_view lines) {
        // A reader that stands still is waited for once: rows and rules must not wait for it.
        const Status status = echo_.write(lines, echo_stalled_ ? LineFile::kWaitMs : 2'000);
        echo_stalled_ = !status;
        if (!status) log::warn("lines are not echoed: " + status.error().message());
      };
    }
  }
  if (passive_) {
    source_.reset();
    reader.metrics.clear();
  }
  auto watch = make_file_reader(options_, std::move(reader));
  if (!watch) return watch.error();
  watch_ = std::move(*watch);
  folders_.follow(watch_->folders());
  return ok();
}

void Collector::make_resources() {
  std::vector<std::string> names;
  for (const std::string& name : Resources::all_names()) {
    const bool asked = std::find(options_.metrics.begin(), options_.metrics.end(), name) != options_.metrics.end();
    if (asked || options_.resources) names.push_back(name);
  }
  for (const std::string& name : options_.metrics)
    if (name.starts_with(kResourcePrefix) && std::find(names.begin(), names.end(), name) == names.end())
      log::warn("the metric " + name +
                " is not known; names that begin with tacho_ are measured: tacho_cpu_cores, tacho_memory_mib …");
  if (!names.empty()) resources_.emplace(roots_, std::move(names), options_.resource_interval_ns);
}

void Collector::resume() {
  const bool has_objective_in_source = !options_.objective().starts_with(kResourcePrefix);
  const auto saved = state_file_.load(options_.trial, options_.kind->name, event_bytes(options_));
  if (saved) state_ = *saved;
  state_.trial = options_.trial;
  state_.kind = options_.kind->name;
  if (saved) {
    if (watch_)
      if (const Status status = watch_->seek(state_.watch_position); !status) log::warn(status.error());
    if (!state_.rules.empty())
      if (const Status status = rules_.restore(state_.rules); !status) log::warn(status.error());
    if (scraper_ && !state_.scrape.empty())
      if (const Status status = scraper_->restore(state_.scrape); !status) log::warn(status.error());
    if (state_.stopped) stop_ = StopStep::mark;
  }
  // In a file also where the only row may be `unavailable`: a restart must find what was on its way.
  const bool own_rows = scraper_ || resources_;
  const bool kept = !state_file_.path().empty() && (own_rows || ::access(folder_.c_str(), W_OK) == 0);
  journal_ = std::make_unique<Journal>(kept ? state_file_.path() + ".rows" : "", options_.trial);

  ShapeRules shape;
  shape.arrival = options_.arrival_time.value_or(options_.profile == Profile::tacho);
  shape.set_apart = options_.profile == Profile::tacho;
  shape.steps = options_.report_steps;
  calls_ =
      make_db_calls(rpc_options(options_, options_.db_address), rpc_options(options_, options_.early_stop_address));
  sender_.emplace(options_.trial, shape, calls_, state_, state_file_);
  sender_->set_call_timeout(options_.rpc_timeout_ns);
  // Without a single row of the objective nothing may be there at the end but `unavailable`, so rows wait for it.
  if (source_) sender_->add_stream("source", *source_, &marks_, state_.objective_seen || !has_objective_in_source);
  sender_->add_stream("own", *journal_, nullptr, true);
  sender_->resume();
  if (!saved && options_.replace_attempts) sender_->delete_first();
}

}  // namespace tacho
