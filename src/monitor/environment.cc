#include "monitor/environment.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kShortestIntervalMs = 10, kLongestIntervalMs = 3600 * 1000;
constexpr size_t kLongestName = 1024;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// One setting: its flag and its variable, and the text of the first that gives something readable.
class Reader {
 public:
  explicit Reader(const MonitorSources& sources) : sources_(sources) {}

  std::optional<std::string> text(std::string_view flag, std::string_view variable) const {
    if (auto value = sources_.flag(flag)) return value;
    if (variable.empty()) return std::nullopt;
    auto value = sources_.variable(variable);
    if (value) value = valid_utf8(*value);
    return value;
  }

  // parse() gives nothing for what makes no sense: an error in a flag, a warning in a variable.
  template <class T>
  std::optional<T> parsed(std::string_view flag, std::string_view variable, std::optional<T> (*parse)(std::string_view),
                          std::string_view expected) {
    if (const auto value = sources_.flag(flag)) {
      if (auto result = parse(*value)) return result;
      fail({Code::invalid, "--" + std::string(flag) + ": not " + std::string(expected), *value,
            "see tacho monitor --help"});
      return std::nullopt;
    }
    if (const auto value = sources_.variable(variable)) {
      if (auto result = parse(*value)) return result;
      log::warn(std::string(variable) + "=\"" + valid_utf8(*value) + "\" is not " + std::string(expected) +
                "; it is left out (set it right, or unset it)");
    }
    return std::nullopt;
  }

  bool is_set(std::string_view flag) const {
    const auto value = sources_.flag(flag);
    return value && parse_bool(*value).value_or(true);
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::optional<Error>& error() const { return error_; }
  bool has_flag(std::string_view flag) const { return sources_.flag(flag).has_value(); }

 private:
  const MonitorSources& sources_;
  std::optional<Error> error_;
};

std::optional<int64_t> parse_whole(std::string_view text) { return parse_int<int64_t>(trim(text)); }

std::optional<int64_t> parse_interval(std::string_view text) {
  const auto value = parse_whole(text);
  if (!value || *value <= 0) return std::nullopt;
  return std::clamp(*value, kShortestIntervalMs, kLongestIntervalMs) * kNsPerMs;
}

void read_identity(Reader& reader, MonitorSettings& out) {
  out.given.instance_id =
      reader.parsed<int64_t>("instance-id", "INSTANCE_ID", parse_whole, "a whole number of 64 bits");
  out.given.instance_name = reader.text("instance-name", "INSTANCE_NAME");
  out.given.zone = reader.text("zone", "ZONE");
  out.given.preemptible = reader.parsed<bool>("preemptible", "PREEMPTIBLE", parse_preemptible, "true or false");
  out.given.cpu_platform = reader.text("cpu-platform", "CPU_PLATFORM");
  out.given.project_id = reader.text("project", "PROJECT_ID");
  out.task.workflow_id = reader.text("workflow-id", "WORKFLOW_ID");
  out.task.task_call_name = reader.text("task-call-name", "TASK_CALL_NAME");
  out.task.shard = reader.parsed<int64_t>("task-call-index", "TASK_CALL_INDEX", parse_shard, "a whole number or NA");
  out.task.attempt = reader.parsed<int64_t>("task-call-attempt", "TASK_CALL_ATTEMPT", parse_whole, "a whole number");
}

// A name that cannot be one is refused where a person typed it; in the environment of a task it must not end measuring.
void check_name(Reader& reader, std::string& name, std::string_view flag, std::string_view variable,
                bool (*good)(std::string_view), std::string_view otherwise) {
  if (good(name) || name.empty()) return;
  const std::string hint = "letters, digits and underscores";
  if (reader.has_flag(flag))
    reader.fail({Code::invalid, "--" + std::string(flag) + ": BigQuery takes no such name", name, hint});
  else
    log::error(std::string(variable) + "=\"" + name + "\" is no name that BigQuery takes (" + hint + "); " +
               (otherwise.empty() ? "nothing is sent, measuring goes on" : "using " + std::string(otherwise)));
  name = otherwise;
}

void read_bigquery(Reader& reader, MonitorSettings& out) {
  BigQueryTarget& target = out.bigquery;
  target.dataset = reader.text("dataset", "DATASET_ID").value_or("");
  target.metrics_table = reader.text("metrics-table", "METRICS_TABLE_ID").value_or("metrics");
  target.runtime_table = reader.text("runtime-table", "RUNTIME_TABLE_ID").value_or("runtime");
  target.endpoint = reader.text("bq-endpoint", "BIGQUERY_EMULATOR_HOST").value_or("");
  target.location = reader.text("bq-location", "").value_or("");
  target.add_columns = reader.is_set("bq-add-columns");
  const std::string create = reader.text("bq-create", "").value_or("auto");
  if (create != "auto" && create != "never")
    reader.fail({Code::invalid, "--bq-create: unknown word", create, "one of auto, never"});
  target.create = create != "never";
  check_name(reader, target.dataset, "dataset", "DATASET_ID", is_dataset_name, "");
  check_name(reader, target.metrics_table, "metrics-table", "METRICS_TABLE_ID", is_table_name, "metrics");
  check_name(reader, target.runtime_table, "runtime-table", "RUNTIME_TABLE_ID", is_table_name, "runtime");
  if (target.metrics_table.empty()) target.metrics_table = "metrics";
  if (target.runtime_table.empty()) target.runtime_table = "runtime";
  if (!target.dataset.empty()) return;
  constexpr std::array<std::string_view, 11> kOnlyWithDataset{
      "dataset",       "bq-endpoint", "bq-location", "bq-create",         "bq-add-columns", "runtime-table",
      "metrics-table", "project",     "credentials", "access-token-file", "token-uri"};
  for (const std::string_view flag : kOnlyWithDataset)
    if (reader.has_flag(flag))
      reader.fail(
          {Code::invalid, "--" + std::string(flag) + " needs a dataset", "", "add --dataset NAME or set DATASET_ID"});
}

void read_google(Reader& reader, const MonitorSources& sources, MonitorSettings& out) {
  GoogleAccess& google = out.google;
  google.metadata_host = reader.text("metadata-host", "GCE_METADATA_HOST").value_or("");
  if (google.metadata_host.empty()) google.metadata_host = sources.variable("GCE_METADATA_IP").value_or("");
  google.access_token_file = reader.text("access-token-file", "").value_or("");
  google.credentials = reader.text("credentials", "").value_or("");
  google.token_uri = reader.text("token-uri", "").value_or("");
  google.no_cloud =
      reader.is_set("no-cloud") || parse_bool(sources.variable("TACHO_NO_CLOUD").value_or("")).value_or(false);
  // A host that was named is meant to be asked.
  if (!google.metadata_host.empty() && !reader.is_set("no-cloud")) google.no_cloud = false;
}

MonitorForm choose_form(Reader& reader, const MonitorSources& sources) {
  const std::string word = reader.text("form", "TACHO_MONITOR_FORM").value_or("");
  for (const MonitorForm form : {MonitorForm::image, MonitorForm::script, MonitorForm::local})
    if (word == form_name(form)) return form;
  if (!word.empty()) {
    if (reader.has_flag("form"))
      reader.fail({Code::invalid, "--form: unknown word", word, "one of image, script, local"});
    else log::warn("TACHO_MONITOR_FORM=\"" + word + "\" is none of image, script, local; it is left out");
  }
  if (sources.log_is_redirected) return MonitorForm::script;
  // Cromwell sets this for the monitoring container, and not for the task's own.
  if (sources.variable("WORKFLOW_ID")) return MonitorForm::image;
  return sources.in_cromwell_folder ? MonitorForm::script : MonitorForm::local;
}

}  // namespace

std::string_view form_name(MonitorForm form) {
  return form == MonitorForm::image ? "image" : form == MonitorForm::script ? "script" : "local";
}

std::vector<std::string> split_mounts(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    std::string word;
    for (; i < text.size() && !is_blank(text[i]); ++i) {
      const size_t close = text[i] == '"' || text[i] == '\'' ? text.find(text[i], i + 1) : std::string_view::npos;
      if (close == std::string_view::npos) {
        word += text[i];
      } else {
        word += text.substr(i + 1, close - i - 1);
        i = close;
      }
    }
    if (!word.empty()) words.push_back(valid_utf8(word));
  }
  return words;
}

std::optional<bool> parse_preemptible(std::string_view text) {
  for (const std::string_view word : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == word) return true;
  for (const std::string_view word : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == word) return false;
  return std::nullopt;
}

std::optional<int64_t> parse_shard(std::string_view text) {
  if (trim(text) == "NA") return -1;
  return parse_whole(text);
}

bool is_dataset_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::all_of(text.begin(), text.end(), is_word_letter);
}

bool is_table_name(std::string_view text) {
  // Also dashes, blanks and letters of other scripts; never what would change the path of a request.
  return !text.empty() && text.size() <= kLongestName && std::all_of(text.begin(), text.end(), [](char c) {
    return is_word_letter(c) || c == '-' || c == ' ' || static_cast<unsigned char>(c) >= 0x80;
  });
}

Result<MonitorSettings> monitor_settings(const MonitorSources& sources) {
  Reader reader(sources);
  MonitorSettings out;
  read_identity(reader, out);
  read_bigquery(reader, out);
  read_google(reader, sources, out);
  out.form = choose_form(reader, sources);
  out.disk_mounts = split_mounts(reader.text("disk-mounts", "DISK_MOUNTS").value_or(""));
  out.remote_mounts = reader.is_set("remote-mounts");
  const auto interval = [&](std::string_view flag, std::string_view variable) {
    return reader.parsed<int64_t>(flag, variable, parse_interval, "a number of milliseconds above 0");
  };
  out.measure_interval_ns = interval("measure-interval-ms", "MEASURE_INTERVAL_MS").value_or(kNsPerSec);
  out.report_interval_ns = interval("report-interval-ms", "REPORT_INTERVAL_MS");
  out.spool_dir = reader.text("spool-dir", "TACHO_SPOOL_DIR").value_or("");
  out.output = reader.text("output", "").value_or("");
  out.strict = reader.is_set("strict");
  if (reader.error()) return *reader.error();
  return out;
}

}  // namespace tacho
