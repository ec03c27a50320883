// The command line of tacho cromwell: one table of options for all its commands, their environment variables, and the
// settings made from them. Not thread-safe.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cromwell/workflow_uploader.h"

namespace tacho {

inline constexpr int kBadUsage = 2;
int exit_of(const Error& error);  // of a setting: what passes is no wrong usage

enum CromwellCommand : unsigned { kUpload = 1, kServe = 2, kImport = 4, kAnalyze = 8 };

struct CromwellOptions {
  bool help = false, quiet = false;
  std::vector<std::string> words;  // what is no option
  // where
  std::string project, dataset, table, location, bq_endpoint, gcs_endpoint, metadata_host, token_uri, cromwell,
      cromwell_auth;
  std::string access_token_file, credentials, gcs_user_project, gcs_parallel, bq_create, ndjson;
  bool add_columns = false;
  // what
  std::string metadata;
  bool allow_running = false, wait = false, include_cached = false, all_backends = false, stream = false,
       no_sizes = false, dry_run = false;
  bool skip_existing = false, no_skip_existing = false;
  // serve
  std::string address, port, auth_token_file, oidc_audience, oidc_issuer, oidc_email, oidc_jwks, jobs;
  // import
  std::string workflow_name, workflow_id, call, shard, attempt;  // workflow_id: of analyze too
  // analyze
  std::string runtime, metrics, prices, output, days, most_bytes;
  bool json = false;
};

Result<CromwellOptions> parse_options(CromwellCommand command, std::span<const std::string> arguments);
std::string options_help(CromwellCommand command);

// Flags, then the environment, then defaults. Errors are finished sentences for a person.
Result<GoogleAuthSettings> auth_settings(const CromwellOptions& options, std::vector<std::string> scopes);
// table_variable may be null. The table's owner: --project, GCP_PROJECT, PROJECT_ID, the credentials' own. Without a
// dataset it is an Error.
Result<SenderSettings> sender_settings(const CromwellOptions& options, const BqTableData& table,
                                       const char* table_variable);
Result<SizeSettings> size_settings(const CromwellOptions& options);
Result<CromwellSettings> cromwell_settings(const CromwellOptions& options);
Result<UploadSettings> upload_settings(const CromwellOptions& options, bool needs_cromwell);

}  // namespace tacho
