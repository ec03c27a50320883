#include "cromwell/bq_command.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/units.h"
#include "cromwell/bq_columns.h"
#include "cromwell/metadata_table.h"
#include "monitor/tables/rows.h"
#include "net/google/bigquery_stream.h"
#include "os/clock.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr int kFailed = 1, kWrongUse = 2;
constexpr int64_t kCommandPatience_ns = 120 * kNsPerSec;

const char kHelp[] =
    "Examples:\n"
    "  tacho bq init --project my-project --dataset cromwell_monitoring --location EU\n"
    "  tacho bq init --dry-run            print the tables as JSON; nothing is sent\n"
    "  tacho bq columns                   print what each column means, as Markdown\n\n"
    "Usage: tacho bq init [OPTIONS]\n"
    "Makes the dataset and the tables runtime, metrics and metadata, where they are missing. What exists is never "
    "changed;\n"
    "only --bq-add-columns appends columns to it.\n\n"
    "  --project ID              owner of the dataset; $GCP_PROJECT, $PROJECT_ID, else the project of the credentials\n"
    "  --dataset ID              $DATASET_ID\n"
    "  --location PLACE          of a dataset that is made, such as EU or us-central1\n"
    "  --runtime-table NAME      $RUNTIME_TABLE_ID, else runtime\n"
    "  --metrics-table NAME      $METRICS_TABLE_ID, else metrics\n"
    "  --metadata-table NAME     $TABLE_ID, else metadata\n"
    "  --bq-add-columns          append tacho's columns to tables that lack them\n"
    "  --bq-endpoint URL         another BigQuery, such as an emulator; $BIGQUERY_EMULATOR_HOST\n"
    "  --access-token-file FILE  a file with a token\n"
    "  --credentials FILE        key of a service account, or a user's login; $GOOGLE_APPLICATION_CREDENTIALS, else "
    "gcloud's\n"
    "  --token-uri URL           instead of the credentials' own token server\n"
    "  --metadata-host HOST      of the metadata server; $GCE_METADATA_HOST\n"
    "  --dry-run                 print what would be made, as JSON\n";

struct Options {
  BqSettings bigquery;
  GoogleAuthSettings google;
  std::string runtime, metrics, metadata;
  bool dry_run = false, help = false;
};

std::string first_of(std::initializer_list<const char*> variables, std::string fallback = {}) {
  for (const char* name : variables)
    if (std::string value = environment(name); !value.empty()) return value;
  return fallback;
}

constexpr auto kFlags = std::to_array<Flag>({{"dry-run", Flag::Kind::bare},
                                             {"bq-add-columns", Flag::Kind::bare},
                                             {"help", Flag::Kind::bare, 'h'},
                                             {"project"},
                                             {"dataset"},
                                             {"location"},
                                             {"runtime-table"},
                                             {"metrics-table"},
                                             {"metadata-table"},
                                             {"bq-endpoint"},
                                             {"access-token-file"},
                                             {"credentials"},
                                             {"token-uri"},
                                             {"metadata-host"}});

void take(const FlagWord& given, Options& options) {
  const std::string_view name = given.flag->name;
  if (name == "dry-run") options.dry_run = true;
  if (name == "bq-add-columns") options.bigquery.add_columns = true;
  if (name == "help") options.help = true;
  if (name == "project") options.bigquery.project = given.value;
  if (name == "dataset") options.bigquery.dataset = given.value;
  if (name == "location") options.bigquery.location = given.value;
  if (name == "runtime-table") options.runtime = given.value;
  if (name == "metrics-table") options.metrics = given.value;
  if (name == "metadata-table") options.metadata = given.value;
  if (name == "bq-endpoint") options.bigquery.endpoint = given.value;
  if (name == "access-token-file") options.google.access_token_file = given.value;
  if (name == "credentials") options.google.credentials_file = given.value;
  if (name == "token-uri") options.google.token_uri = given.value;
  if (name == "metadata-host") options.google.metadata_host = given.value;
}

Result<Options> parse(std::span<const std::string> words) {
  Options options;
  for (FlagReader reader(words, kFlags, {}); reader.next();) {
    const std::string word(reader->word);
    if (reader->kind == FlagWord::Kind::no_value)
      return Error{Code::invalid, word + " needs a value", "", "see tacho bq init --help"};
    if (reader->kind != FlagWord::Kind::flag)
      return Error{Code::invalid, "unknown option " + word, "",
                   nearest_flag(reader->name, kFlags, "see tacho bq init --help")};
    take(*reader, options);
  }
  if (options.bigquery.project.empty()) options.bigquery.project = first_of({"GCP_PROJECT", "PROJECT_ID"});
  if (options.bigquery.dataset.empty()) options.bigquery.dataset = first_of({"DATASET_ID"});
  if (options.runtime.empty()) options.runtime = first_of({"RUNTIME_TABLE_ID"}, "runtime");
  if (options.metrics.empty()) options.metrics = first_of({"METRICS_TABLE_ID"}, "metrics");
  if (options.metadata.empty()) options.metadata = first_of({"TABLE_ID"}, "metadata");
  return options;
}

std::vector<BqTableSpec> tables_of(const Options& options) {
  return {bq_table_spec(kBqRuntime, options.runtime), bq_table_spec(kBqMetrics, options.metrics),
          bq_table_spec(kBqMetadata, options.metadata)};
}

// The bodies of tables.insert, by table.
int print_tables(const Options& options) {
  auto all = nlohmann::ordered_json::object();
  for (const BqTableSpec& spec : tables_of(options))
    all[spec.table] = {{"schema", {{"fields", nlohmann::ordered_json::parse(bq_fields_json(spec.fields))}}},
                       {"timePartitioning", {{"type", "DAY"}, {"field", spec.partition}}},
                       {"requirePartitionFilter", true}};
  return std::fputs((all.dump(2) + "\n").c_str(), stdout) < 0 ? kFailed : 0;
}

bool make(BigQuery& client, const BqTableSpec& spec) {
  BqEvents events;
  events.warn = [](const std::string& kind, const std::string& text) {
    if (!kind.starts_with("blocked")) log::warn(text);  // it is the error below
  };
  BqStream stream(client, spec, std::move(events));
  const BqStep step = stream.flush(system_clock().monotonic_ns() + kCommandPatience_ns);
  const std::string name = client.settings().project + "." + client.settings().dataset + "." + spec.table;
  if (step.kind != BqStep::Kind::idle) {
    log::error("cannot make sure of the table " + name + ": " + stream.reason());
    return false;
  }
  std::printf("%s %s\n", name.c_str(), stream.made_table() ? "made" : "is there");
  return true;
}

int init(Options options) {
  options.google.warn = [](const std::string& text) { log::warn(text); };
  HttpClient http;
  GoogleToken token(http, options.google);
  if (options.bigquery.project.empty()) {
    const auto project = token.project_within(kProjectPatienceMs);
    if (!project) return log::error(project.error().message()), project.error().code == Code::io ? 1 : kWrongUse;
    options.bigquery.project = *project;
  }
  const auto tables = tables_of(options);
  for (const auto& [flag, kind, name] : {std::tuple{"--project", "project", options.bigquery.project},
                                         {"--dataset", "dataset", options.bigquery.dataset},
                                         {"--runtime-table", "table", options.runtime},
                                         {"--metrics-table", "table", options.metrics},
                                         {"--metadata-table", "table", options.metadata}})
    if (const Status good = check_bq_name(kind, name); !good)
      return log::error(std::string(flag) + ": " + good.error().message()), kWrongUse;
  auto client = BigQuery::open(http, options.bigquery, &token);
  if (!client) return log::error(client.error().message()), kWrongUse;
  bool all = true;
  for (const BqTableSpec& spec : tables) all = make(*client, spec) && all;
  return all ? 0 : kFailed;
}

}  // namespace

int bq_command(std::span<const std::string> arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "-h" || command == "--help") return std::fputs(kHelp, stdout) < 0 ? kFailed : 0;
  if (command == "columns" && arguments.size() == 1)
    return std::fputs(bq_columns_document().c_str(), stdout) < 0 ? kFailed : 0;
  if (command != "init") return log::error("tacho bq takes the word init or columns; see tacho bq --help"), kWrongUse;
  const auto options = parse(arguments.subspan(1));
  if (!options) return log::error(options.error().message()), kWrongUse;
  if (options->help) return std::fputs(kHelp, stdout) < 0 ? kFailed : 0;
  return options->dry_run ? print_tables(*options) : init(*options);
}

}  // namespace tacho
