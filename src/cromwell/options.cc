#include "cromwell/options.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/helper.h"

namespace tacho {
namespace {

constexpr unsigned kAll = kUpload | kServe | kImport, kRows = kUpload | kServe;

struct Option {
  std::string_view name;
  std::string_view value;  // what stands for the value in the help; empty: a switch
  unsigned commands;
  std::string CromwellOptions::*text;
  bool CromwellOptions::*flag;
  std::string_view help;
};

using O = CromwellOptions;
constexpr Option text(std::string_view name, std::string_view value, unsigned commands, std::string O::*target,
                      std::string_view help) {
  return {name, value, commands, target, nullptr, help};
}
constexpr Option flag(std::string_view name, unsigned commands, bool O::*target, std::string_view help) {
  return {name, "", commands, nullptr, target, help};
}

constexpr std::array kOptions = {
    text("--metadata", "FILE", kUpload, &O::metadata, "a saved metadata document instead of ids; - is stdin"),
    text("--cromwell", "URL", kRows, &O::cromwell, "the Cromwell server [CROMWELL_BASEURL]"),
    text("--cromwell-auth", "auto|none", kRows, &O::cromwell_auth,
         "none: send it no token [CROMWELL_ACCESS_TOKEN is sent if set]"),
    text("--project", "ID", kAll, &O::project,
         "owner of the table [GCP_PROJECT, PROJECT_ID]; else the credentials' project"),
    text("--dataset", "ID", kAll, &O::dataset, "BigQuery dataset [DATASET_ID]"),
    text("--table", "ID", kAll, &O::table, "table (metadata [TABLE_ID]; of import: monitoring)"),
    text("--bq-location", "PLACE", kAll, &O::location, "where a missing dataset is made"),
    text("--bq-create", "auto|never", kAll, &O::bq_create, "never: a missing table is an error"),
    flag("--bq-add-columns", kAll, &O::add_columns, "add tacho's columns to a table that lacks them"),
    text("--bq-endpoint", "URL", kAll, &O::bq_endpoint, "another BigQuery [BIGQUERY_EMULATOR_HOST]"),
    text("--gcs-endpoint", "URL", kAll, &O::gcs_endpoint, "another Cloud Storage [STORAGE_EMULATOR_HOST]"),
    text("--gcs-user-project", "ID", kAll, &O::gcs_user_project, "who pays for buckets whose requester pays"),
    text("--gcs-parallel", "N", kRows, &O::gcs_parallel, "size look-ups at once (32) [GCS_QUERY_THROTTLE]"),
    text("--credentials", "FILE", kAll, &O::credentials, "Google credentials [GOOGLE_APPLICATION_CREDENTIALS]"),
    text("--access-token-file", "FILE", kAll, &O::access_token_file, "a file with an access token"),
    text("--token-uri", "URL", kAll, &O::token_uri, "another token endpoint"),
    text("--metadata-host", "HOST", kAll, &O::metadata_host, "another metadata server [GCE_METADATA_HOST]"),
    flag("--allow-running", kRows, &O::allow_running, "take workflows and calls that are not over"),
    flag("--wait", kUpload, &O::wait, "wait until a workflow is over"),
    flag("--include-cached", kRows, &O::include_cached, "rows for calls without a machine too, with cached=true"),
    flag("--all-backends", kRows, &O::all_backends, "rows for calls of other backends too"),
    flag("--skip-existing", kRows, &O::skip_existing, "send nothing when all rows are there (the default of serve)"),
    flag("--no-skip-existing", kRows, &O::no_skip_existing, "do not ask"),
    flag("--stream", kRows, &O::stream, "send the rows of a broken document up to where it breaks"),
    flag("--no-sizes", kRows, &O::no_sizes, "look no file sizes up"),
    flag("--dry-run", kUpload | kImport, &O::dry_run, "print the rows as JSON lines, send nothing"),
    text("--ndjson", "FILE", kAll, &O::ndjson, "where rows too old for streaming go (tacho-TABLE.ndjson); - is stdout"),
    text("--address", "ADDR", kServe, &O::address, "listen there (0.0.0.0)"),
    text("--port", "N", kServe, &O::port, "listen on this port (8080) [PORT]"),
    text("--jobs", "N", kServe, &O::jobs, "uploads at once (4)"),
    text("--auth-token-file", "FILE", kServe, &O::auth_token_file,
         "callers must send this bearer token [TACHO_SERVE_TOKEN]"),
    text("--oidc-audience", "AUD", kServe, &O::oidc_audience,
         "callers may send a Google identity token for this audience"),
    text("--oidc-email", "EMAIL,...", kServe, &O::oidc_email, "… of one of these accounts; has to be given"),
    text("--oidc-issuer", "ISS", kServe, &O::oidc_issuer, "… from this issuer (https://accounts.google.com)"),
    text("--oidc-jwks", "URL", kServe, &O::oidc_jwks, "… signed with one of these keys (Google's)"),
    text("--workflow-name", "NAME", kImport, &O::workflow_name, "instead of what the path says; so do the next four"),
    text("--workflow-id", "ID", kImport, &O::workflow_id, ""),
    text("--call", "NAME", kImport, &O::call, ""),
    text("--shard", "N", kImport, &O::shard, ""),
    text("--attempt", "N", kImport, &O::attempt, ""),
};

const Option* find_option(CromwellCommand command, std::string_view name) {
  for (const Option& option : kOptions)
    if (option.name == name && (option.commands & command) != 0) return &option;
  return nullptr;
}

Error unknown_option(CromwellCommand command, const std::string& word) {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions)
    if ((option.commands & command) != 0) names.push_back(option.name);
  const std::string_view near = nearest(word, names);
  return {Code::invalid, "unknown option", word,
          near.empty() ? "see --help" : "did you mean " + std::string(near) + "?"};
}

}  // namespace

Result<CromwellOptions> parse_options(CromwellCommand command, std::span<const std::string> arguments) {
  CromwellOptions options;
  bool only_words = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (only_words || word.size() < 2 || word[0] != '-') {
      options.words.push_back(word);
    } else if (word == "--") {
      only_words = true;
    } else if (word == "-h" || word == "--help") {
      options.help = true;
    } else if (word == "-v" || word == "--verbose") {
      log::set_level(log::Level::verbose);
    } else if (word == "-q" || word == "--quiet") {
      log::set_level(log::Level::quiet);
      options.quiet = true;
    } else {
      const size_t equals = std::min(word.find('='), word.size());
      const Option* const option = find_option(command, std::string_view(word).substr(0, equals));
      if (option == nullptr) return unknown_option(command, word.substr(0, equals));
      const std::string name(option->name);
      if (option->flag != nullptr) {
        if (equals < word.size()) return Error{Code::invalid, "this option takes no value", name, "write " + name};
        options.*option->flag = true;
      } else if (equals < word.size()) {
        options.*option->text = word.substr(equals + 1);
      } else if (i + 1 < arguments.size()) {
        options.*option->text = arguments[++i];
      } else {
        return Error{Code::invalid, "this option needs a value", name,
                     "write " + name + " " + std::string(option->value)};
      }
    }
  }
  return options;
}

std::string options_help(CromwellCommand command) {
  std::string help;
  for (const Option& option : kOptions) {
    if ((option.commands & command) == 0) continue;
    std::string line = "  " + std::string(option.name);
    if (!option.value.empty()) line.append(" ").append(option.value);
    line.append(line.size() < 30 ? 30 - line.size() : 1, ' ');
    help += line + std::string(option.help) + "\n";
  }
  return help + "  -q, --quiet                 no summary and no warnings\n  -v, --verbose               say more\n";
}

Result<GoogleAuthSettings> auth_settings(const CromwellOptions& options, std::vector<std::string> scopes) {
  GoogleAuthSettings settings;
  settings.access_token_file = options.access_token_file;
  settings.credentials_file = options.credentials;
  settings.token_uri = options.token_uri;
  settings.metadata_host = options.metadata_host;
  settings.scopes = std::move(scopes);
  settings.warn = [](const std::string& warning) { log::warn(warning); };
  return settings;
}

Result<SenderSettings> sender_settings(const CromwellOptions& options, const BqTableData& table,
                                       const char* table_variable) {
  SenderSettings settings;
  auto auth = auth_settings(options, {std::string(kScopeBigQuery)});
  if (!auth) return auth.error();
  settings.auth = std::move(*auth);
  const auto first = [](std::initializer_list<std::string> values) {
    for (const std::string& value : values)
      if (!value.empty()) return value;
    return std::string();
  };
  const std::string table_id =
      first({options.table, table_variable == nullptr ? "" : environment(table_variable), std::string(table.name)});
  settings.spec = bq_table_spec(table, table_id);
  settings.ndjson_path = first({options.ndjson, "tacho-" + table_id + ".ndjson"});
  if (!options.bq_create.empty() && options.bq_create != "auto" && options.bq_create != "never")
    return Error{Code::invalid, "--bq-create is auto or never", options.bq_create, ""};
  settings.bq.create = options.bq_create != "never";
  settings.bq.add_columns = options.add_columns;
  settings.bq.location = options.location;
  settings.bq.endpoint = options.bq_endpoint;
  if (options.dry_run) return settings;  // nothing is sent
  if (const auto base = bq_base_url(options.bq_endpoint); !base) return base.error();
  settings.bq.dataset = first({options.dataset, environment("DATASET_ID")});
  if (settings.bq.dataset.empty())
    return Error{Code::invalid, "no BigQuery dataset is named", "", "set DATASET_ID or use --dataset"};
  if (const Status good = check_bq_name("dataset", settings.bq.dataset); !good) return good.error();
  if (const Status good = check_bq_name("table", table_id); !good) return good.error();
  settings.bq.project = first({options.project, environment("GCP_PROJECT"), environment("PROJECT_ID")});
  if (settings.bq.project.empty()) {
    HttpClient http;
    GoogleToken token(http, settings.auth);
    const auto project = token.project();
    if (!project) return project.error();
    settings.bq.project = *project;
  }
  if (settings.bq.project.empty())
    return Error{Code::invalid, "no project is known", "", "set GCP_PROJECT or use --project"};
  if (const Status good = check_bq_name("project", settings.bq.project); !good) return good.error();
  return settings;
}

Result<SizeSettings> size_settings(const CromwellOptions& options) {
  SizeSettings settings;
  auto base = gcs_base_url(options.gcs_endpoint);
  if (!base) return base.error();
  settings.base_url = std::move(*base);
  settings.user_project = options.gcs_user_project;
  const std::string parallel = options.gcs_parallel.empty() ? environment("GCS_QUERY_THROTTLE") : options.gcs_parallel;
  if (!parallel.empty()) {
    const auto number = parse_int<int>(parallel);
    if (number && *number >= 1 && *number <= 1'000) settings.parallel = static_cast<size_t>(*number);
    else if (!options.gcs_parallel.empty())
      return Error{Code::invalid, "--gcs-parallel is a number from 1 to 1000", parallel, ""};
    else log::warn("GCS_QUERY_THROTTLE is a number from 1 to 1000, not \"" + parallel + "\"; 32 is used");
  }
  auto auth = auth_settings(options, {std::string(kScopeStorageRead)});
  if (!auth) return auth.error();
  settings.auth = std::move(*auth);
  return settings;
}

Result<CromwellSettings> cromwell_settings(const CromwellOptions& options) {
  CromwellSettings settings;
  const std::string url = options.cromwell.empty() ? environment("CROMWELL_BASEURL") : options.cromwell;
  if (url.empty())
    return Error{Code::invalid, "no Cromwell server is named", "", "set CROMWELL_BASEURL or use --cromwell"};
  auto base = cromwell_base_url(url);
  if (!base) return base.error();
  settings.base_url = std::move(*base);
  if (!options.cromwell_auth.empty() && options.cromwell_auth != "none" && options.cromwell_auth != "auto")
    return Error{Code::invalid, "--cromwell-auth is auto or none", options.cromwell_auth, ""};
  settings.use_token = options.cromwell_auth != "none";
  settings.access_token = environment("CROMWELL_ACCESS_TOKEN");
  wipe_environment("CROMWELL_ACCESS_TOKEN");
  auto auth = auth_settings(options, {std::string(kScopeUserEmail), std::string(kScopeUserProfile)});
  if (!auth) return auth.error();
  settings.auth = std::move(*auth);
  return settings;
}

Result<UploadSettings> upload_settings(const CromwellOptions& options, bool needs_cromwell) {
  UploadSettings settings;
  if (needs_cromwell) {
    auto cromwell = cromwell_settings(options);
    if (!cromwell) return cromwell.error();
    settings.cromwell = std::move(*cromwell);
  }
  auto sender = sender_settings(options, kBqMetadata, "TABLE_ID");
  if (!sender) return sender.error();
  settings.sender = std::move(*sender);
  settings.rows = {options.allow_running, options.include_cached, options.all_backends};
  settings.skip_existing = options.skip_existing && !options.no_skip_existing && !options.dry_run;
  settings.stream = options.stream;
  settings.with_sizes = !options.no_sizes;
  settings.print_only = options.dry_run;
  return settings;
}

}  // namespace tacho
