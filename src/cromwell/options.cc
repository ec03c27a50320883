#include "cromwell/options.h"

#include <array>

#include "base/flags.h"
#include "base/log.h"
#include "base/text.h"
#include "cromwell/metadata_table.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr unsigned kAll = kUpload | kServe | kImport, kRows = kUpload | kServe, kGoogle = kAll | kAnalyze;

struct Option {
  Flag flag;
  unsigned commands;
  std::string CromwellOptions::*text;
  bool CromwellOptions::*on;
};

using O = CromwellOptions;
constexpr Option text(std::string_view name, std::string_view value, unsigned commands, std::string O::*target,
                      std::string_view help) {
  return {{name, Flag::Kind::text, 0, value, help}, commands, target, nullptr};
}
constexpr Option flag(std::string_view name, unsigned commands, bool O::*target, std::string_view help) {
  return {{name, Flag::Kind::bare, 0, "", help}, commands, nullptr, target};
}

constexpr Option letter(char short_name, Option option) {
  option.flag.letter = short_name;
  return option;
}

constexpr std::array kOptions = {
    text("metadata", "FILE", kUpload, &O::metadata, "a saved metadata document instead of ids; - is stdin"),
    text("runtime", "FILE", kAnalyze, &O::runtime, "export of the table runtime; with * several files; - is stdin"),
    text("metrics", "FILE", kAnalyze, &O::metrics, "... of the table metrics"),
    text("metadata", "FILE", kAnalyze, &O::metadata, "... of the table metadata"),
    flag("json", kAnalyze, &O::json, "print all of it as JSON, each attempt too"),
    letter('o', text("output", "FILE", kAnalyze, &O::output, "write a page: FILE.html, or - for stdout")),
    text("prices", "FILE", kAnalyze, &O::prices, "price list of servers, as of tacho advise"),
    text("workflow", "ID", kAnalyze, &O::workflow_id,
         "only this workflow and its sub-workflows, and their use over time"),
    text("days", "N", kAnalyze, &O::days, "of bq://: rows of the last N days (30)"),
    text("max-bytes", "SIZE", kAnalyze, &O::most_bytes, "of bq://: ask nothing that reads more than this (1GB)"),
    text("cromwell", "URL", kRows, &O::cromwell, "the Cromwell server [CROMWELL_BASEURL]"),
    text("cromwell-auth", "auto|none", kRows, &O::cromwell_auth,
         "none: send it no token [CROMWELL_ACCESS_TOKEN is sent if set]"),
    text("project", "ID", kAll, &O::project,
         "owner of the table [GCP_PROJECT, PROJECT_ID]; else the credentials' project"),
    text("dataset", "ID", kAll, &O::dataset, "BigQuery dataset [DATASET_ID]"),
    text("table", "ID", kAll, &O::table, "table (metadata [TABLE_ID]; of import: monitoring)"),
    text("bq-location", "PLACE", kAll, &O::location, "where a missing dataset is made"),
    text("bq-create", "auto|never", kAll, &O::bq_create, "never: a missing table is an error"),
    flag("bq-add-columns", kAll, &O::add_columns, "add tacho's columns to a table that lacks them"),
    text("bq-endpoint", "URL", kGoogle, &O::bq_endpoint, "another BigQuery [BIGQUERY_EMULATOR_HOST]"),
    text("gcs-endpoint", "URL", kAll, &O::gcs_endpoint, "another Cloud Storage [STORAGE_EMULATOR_HOST]"),
    text("gcs-user-project", "ID", kAll, &O::gcs_user_project, "who pays for buckets whose requester pays"),
    text("gcs-parallel", "N", kRows, &O::gcs_parallel, "size look-ups at once (32) [GCS_QUERY_THROTTLE]"),
    text("credentials", "FILE", kGoogle, &O::credentials, "Google credentials [GOOGLE_APPLICATION_CREDENTIALS]"),
    text("access-token-file", "FILE", kGoogle, &O::access_token_file, "a file with an access token"),
    text("token-uri", "URL", kGoogle, &O::token_uri, "another token endpoint"),
    text("metadata-host", "HOST", kGoogle, &O::metadata_host, "another metadata server [GCE_METADATA_HOST]"),
    flag("allow-running", kRows, &O::allow_running, "take workflows and calls that are not over"),
    flag("wait", kUpload, &O::wait, "wait until a workflow is over"),
    flag("include-cached", kRows, &O::include_cached, "rows for calls without a machine too, with cached=true"),
    flag("all-backends", kRows, &O::all_backends, "rows for calls of other backends too"),
    flag("skip-existing", kRows, &O::skip_existing, "send only rows that the table lacks (the default of serve)"),
    flag("no-skip-existing", kRows, &O::no_skip_existing, "send all rows, whatever the table has"),
    flag("stream", kRows, &O::stream, "send the rows of a broken document up to where it breaks"),
    flag("no-sizes", kRows, &O::no_sizes, "leave the sizes of files out"),
    flag("dry-run", kUpload | kImport, &O::dry_run, "print the rows as JSON lines, send nothing"),
    text("ndjson", "FILE", kAll, &O::ndjson, "where rows too old for streaming go (tacho-TABLE.ndjson); - is stdout"),
    text("address", "ADDR", kServe, &O::address, "listen there (0.0.0.0)"),
    text("port", "N", kServe, &O::port, "listen on this port (8080) [PORT]"),
    text("jobs", "N", kServe, &O::jobs, "uploads at once (4)"),
    text("auth-token-file", "FILE", kServe, &O::auth_token_file,
         "callers must send this bearer token [TACHO_SERVE_TOKEN]"),
    text("oidc-audience", "AUD", kServe, &O::oidc_audience,
         "callers may send a Google identity token for this audience"),
    text("oidc-email", "EMAIL,...", kServe, &O::oidc_email,
         "... of one of these accounts; required with --oidc-audience"),
    text("oidc-issuer", "ISS", kServe, &O::oidc_issuer, "... from this issuer (https://accounts.google.com)"),
    text("oidc-jwks", "URL", kServe, &O::oidc_jwks, "... signed with one of these keys (Google's)"),
    text("workflow-name", "NAME", kImport, &O::workflow_name, "of the log, instead of what its path says"),
    text("workflow-id", "ID", kImport, &O::workflow_id, "likewise"),
    text("call", "NAME", kImport, &O::call, "likewise"),
    text("shard", "N", kImport, &O::shard, "likewise"),
    text("attempt", "N", kImport, &O::attempt, "likewise"),
};

// Every command has these; they stand behind its own in the help.
constexpr std::array kCommon = {
    Flag{"help", Flag::Kind::bare, 'h', "", ""},
    Flag{"verbose", Flag::Kind::bare, 'v', "", ""},
    Flag{"quiet", Flag::Kind::bare, 'q', "", ""},
};

// The flags of a command, and behind them the common ones.
struct CommandFlags {
  explicit CommandFlags(CromwellCommand command) {
    for (const Option& option : kOptions) {
      if ((option.commands & command) == 0) continue;
      flags.push_back(option.flag);
      options.push_back(&option);
    }
    flags.insert(flags.end(), kCommon.begin(), kCommon.end());
  }
  // Null: a common one.
  const Option* option(const Flag* flag) const {
    const auto at = static_cast<size_t>(flag - flags.data());
    return at < options.size() ? options[at] : nullptr;
  }
  std::span<const Flag> own() const { return std::span(flags).first(options.size()); }

  std::vector<Flag> flags;
  std::vector<const Option*> options;  // at the same place
};

void take_common(const Flag& flag, CromwellOptions& options) {
  if (flag.letter == 'h') options.help = true;
  if (flag.letter == 'v') log::set_level(log::Level::verbose);
  if (flag.letter != 'q') return;
  log::set_level(log::Level::quiet);
  options.quiet = true;
}

}  // namespace

Result<CromwellOptions> parse_options(CromwellCommand command, std::span<const std::string> arguments) {
  CromwellOptions options;
  FlagRules rules;
  rules.dashes = FlagRules::Dashes::words;
  const CommandFlags known(command);
  for (FlagReader reader(arguments, known.flags, rules); reader.next();) {
    if (reader->kind == FlagWord::Kind::word) {
      options.words.emplace_back(reader->word);
      continue;
    }
    const Option* const option = reader->flag == nullptr ? nullptr : known.option(reader->flag);
    if (reader->kind == FlagWord::Kind::flag) {
      if (option == nullptr) take_common(*reader->flag, options);
      else if (option->on != nullptr) options.*option->on = true;
      else options.*option->text = reader->value;
      continue;
    }
    const std::string& name = reader->name;
    if (option == nullptr)
      return Error{Code::invalid, "unknown option", name, nearest_flag(name, known.own(), "see --help")};
    if (reader->kind == FlagWord::Kind::stray_value)
      return Error{Code::invalid, "this option takes no value", name, "write " + name};
    return Error{Code::invalid, "this option needs a value", name,
                 "write " + name + " " + std::string(option->flag.value)};
  }
  return options;
}

std::string options_help(CromwellCommand command) {
  return flags_help(CommandFlags(command).own(), 30, 1) +
         "  -q, --quiet                 no summary and no warnings\n  -v, --verbose               say more\n";
}

int exit_of(const Error& error) { return error.code == Code::io ? 1 : kBadUsage; }

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
    const auto project = token.project_within(kProjectPatienceMs);
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
