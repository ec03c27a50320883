#include <array>
#include <cstdio>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "cromwell/commands.h"
#include "cromwell/log_source.h"
#include "cromwell/monitoring_log.h"
#include "cromwell/options.h"
#include "cromwell/row_json.h"
#include "cromwell/sender.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr const char kImportHelp[] =
    "Examples:\n"
    "  tacho cromwell import "
    "gs://bucket/cromwell/wf/5d96fd3c-1a89-40ae-8095-c364181cda46/call-align/shard-3/monitoring.log\n"
    "  tacho cromwell import --ndjson rows.ndjson logs/wf/*/call-*/monitoring.log\n\n"
    "Usage: tacho cromwell import [OPTIONS] LOG...\n"
    "Old monitoring.log files, in either known format, as rows. Whose log it is stands in its path. Rows too old for "
    "streaming,\n"
    "or all of them when no dataset is named, go to the file of --ndjson for a load job. Exit status: 0 all, 1 some "
    "failed, 2 wrong usage.\n\n";

constexpr int64_t kStreamingBackNs = 1825ll * 86'400 * kNsPerSec;

constexpr auto kRequired = BqMode::required;
constexpr auto kNullable = BqMode::nullable;
constexpr std::array kColumns = {
    BqColumn{"workflow_name", BqType::string, kRequired},  BqColumn{"workflow_id", BqType::string, kRequired},
    BqColumn{"task_call_name", BqType::string, kRequired}, BqColumn{"cpu_unit", BqType::string, kRequired},
    BqColumn{"mem_unit", BqType::string, kRequired},       BqColumn{"disk_unit", BqType::string, kRequired},
    BqColumn{"shard", BqType::integer, kRequired},         BqColumn{"attempt", BqType::integer, kRequired},
    BqColumn{"cpu", BqType::floating, kNullable},          BqColumn{"mem", BqType::floating, kNullable},
    BqColumn{"disk", BqType::floating, kNullable},         BqColumn{"timestamp", BqType::timestamp, kNullable},
};
constexpr BqTableData kMonitoring{"monitoring", "", kColumns};

std::string log_row_json(const LogPlace& place, const LogSample& sample) {
  Writer out(512);
  JsonWriter json(out);
  json.object();
  json.key("workflow_name").value(place.workflow_name).key("workflow_id").value(place.workflow_id);
  json.key("task_call_name").value(place.call);
  json.key("cpu_unit").value("#").key("mem_unit").value("G").key("disk_unit").value("G");
  json.key("shard").integer(place.shard).key("attempt").integer(place.attempt);
  for (const auto& [name, value] : {std::pair{"cpu", sample.cpu}, {"mem", sample.memory}, {"disk", sample.disk}})
    if (value) json.key(name).number(*value, 6);
  if (sample.time_ns) json.key("timestamp").value(rfc3339_us(*sample.time_ns));
  json.end_object();
  return std::string(out.view());
}

// What tells a record of one log from all others of it, so that BigQuery takes none for another one that was sent
// again. The same log read twice gives the same. Dates have whole seconds, and a clock that is set back, or leaves
// summer time, shows some of them twice.
class RecordIds {
 public:
  std::vector<std::string> next(const std::optional<int64_t>& time_ns) {
    if (!time_ns) return parts("", untimed_++, 0);
    same_time_ = last_ns_ == *time_ns ? same_time_ + 1 : 0;
    if (last_ns_ && *time_ns < *last_ns_) ++returns_;
    last_ns_ = *time_ns;
    return parts(std::to_string(*time_ns / 1000), same_time_, returns_);
  }

 private:
  static std::vector<std::string> parts(std::string time, uint64_t same_time, uint64_t returns) {
    std::vector<std::string> found{std::move(time)};
    if (same_time > 0 || returns > 0) found.push_back(std::to_string(same_time));
    if (returns > 0) found.push_back(std::to_string(returns));
    return found;
  }

  std::optional<int64_t> last_ns_;
  uint64_t same_time_ = 0, returns_ = 0;  // records before this one in its second; how often time went back before it
  uint64_t untimed_ = 0;
};

// All logs of one call of the command.
class Import {
 public:
  Import(const CromwellOptions& options, SenderSettings settings, bool send)
      : options_(options), settings_(std::move(settings)), send_(send) {}

  // Empty: all went well.
  std::string one(const std::string& path, const LogSource& source);
  std::string finish();

 private:
  Result<LogPlace> place_of(const std::string& path) const;
  void add(const LogPlace& place, const LogSample& sample);
  void send();

  const CromwellOptions& options_;
  SenderSettings settings_;
  bool send_;
  std::unique_ptr<Sender> sender_;
  std::vector<BqRow> batch_;
  std::string lines_;
  uint64_t rows_ = 0, old_rows_ = 0;
  RecordIds ids_;  // of the log that is read
  std::string why_;
};

Result<LogPlace> Import::place_of(const std::string& path) const {
  auto place = parse_log_path(path);
  const bool named = !options_.workflow_name.empty() && !options_.workflow_id.empty() && !options_.call.empty();
  if (!place && !named) return place.error();
  LogPlace result = place ? *place : LogPlace();
  if (!options_.workflow_name.empty()) result.workflow_name = options_.workflow_name;
  if (!options_.workflow_id.empty()) result.workflow_id = options_.workflow_id;
  if (!options_.call.empty()) result.call = options_.call;
  if (const auto shard = parse_int<int64_t>(options_.shard)) result.shard = *shard;
  if (const auto attempt = parse_int<int64_t>(options_.attempt)) result.attempt = *attempt;
  return result;
}

void Import::add(const LogPlace& place, const LogSample& sample) {
  ++rows_;
  std::string json = log_row_json(place, sample);
  const std::vector<std::string> record = ids_.next(sample.time_ns);
  if (!send_ || (sample.time_ns && *sample.time_ns < system_clock().realtime_ns() - kStreamingBackNs)) {
    ++old_rows_;
    lines_.append(json).append("\n");
  } else {
    std::vector<std::string> parts{place.workflow_id, place.call, std::to_string(place.shard),
                                   std::to_string(place.attempt)};
    parts.insert(parts.end(), record.begin(), record.end());
    batch_.push_back({rows_, "l-" + bq_hash(parts), std::move(json)});
  }
  if (batch_.size() >= kBatchRows || lines_.size() > size_t{1} << 20) send();
}

void Import::send() {
  if (!lines_.empty()) {
    const Status status = append_ndjson(options_.dry_run ? "-" : settings_.ndjson_path, lines_);
    if (!status && why_.empty()) why_ = status.error().message();
    lines_.clear();
  }
  if (batch_.empty()) return;
  if (!sender_) sender_ = std::make_unique<Sender>(settings_);
  (void)sender_->push(std::move(batch_));
  batch_.clear();
}

std::string Import::one(const std::string& path, const LogSource& source) {
  const auto place = place_of(path);
  if (!place) return place.error().message();
  ids_ = {};
  MonitoringLog log([&](const LogSample& sample) { add(*place, sample); });
  const Status status = source(path, [&](std::string_view line) { log.line(line); });
  log.finish();
  if (!status) return status.error().message();
  if (log.samples() == 0)
    return "there is no record in it (a header that ends with \"Runtime Information\" is expected)";
  if (log.bad_lines() > 0)
    return std::to_string(log.bad_lines()) + " lines cannot be read; the other " + std::to_string(log.samples()) +
           " records are kept";
  return {};
}

std::string Import::finish() {
  send();
  SenderResult sent;
  if (sender_) sent = sender_->finish();
  if (why_.empty()) why_ = sent.why;
  if (why_.empty() && sent.dropped > 0) why_ = std::to_string(sent.dropped) + " rows were refused";
  if (!options_.quiet && !options_.dry_run) {
    const std::string file =
        old_rows_ == 0 ? "" : ", " + std::to_string(old_rows_) + " for a load job in " + settings_.ndjson_path;
    std::fprintf(stderr, "tacho: %ld rows uploaded%s\n", static_cast<long>(sent.accepted), file.c_str());
  }
  return why_;
}

}  // namespace

int import_command(std::span<const std::string> arguments) {
  const auto options = parse_options(kImport, arguments);
  if (!options) return log::error(options.error().message()), kBadUsage;
  if (options->help) return std::fputs((kImportHelp + options_help(kImport)).c_str(), stdout) < 0 ? 1 : 0;
  if (options->words.empty()) return log::error("name a monitoring.log (see tacho cromwell import --help)"), kBadUsage;
  for (const auto& [name, value] : {std::pair{"--shard", &options->shard}, {"--attempt", &options->attempt}})
    if (!value->empty() && !parse_int<int64_t>(*value))
      return log::error(std::string(name) + " is a number, not " + *value), kBadUsage;
  const bool has_dataset = !options->dataset.empty() || !environment("DATASET_ID").empty();
  CromwellOptions used = *options;
  if (!has_dataset && !options->ndjson.empty()) used.dry_run = true;  // only the file is written
  auto settings = sender_settings(used, kMonitoring, nullptr);
  if (!settings) return log::error(settings.error().message()), exit_of(settings.error());
  auto storage = size_settings(*options);
  if (!storage) return log::error(storage.error().message()), kBadUsage;
  const LogSource source = make_log_source(*storage);
  Import import(*options, std::move(*settings), has_dataset && !options->dry_run);
  bool good = true;
  for (const std::string& path : options->words) {
    const std::string why = import.one(path, source);
    if (!why.empty()) log::error(path + ": " + why);
    good = good && why.empty();
  }
  const std::string why = import.finish();
  if (!why.empty()) log::error(why);
  return good && why.empty() ? 0 : 1;
}

}  // namespace tacho
