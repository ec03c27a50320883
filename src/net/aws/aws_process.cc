#include "net/aws/aws_process.h"

#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "net/http/json_text.h"
#include "os/clock.h"
#include "os/command.h"

namespace tacho {
namespace {

constexpr int64_t kPatience_ns = 60 * kNsPerSec;
constexpr size_t kShownBytes = 300;

// The last of what it said, on one line.
std::string last_words(std::string_view err) {
  err = trim(err);
  if (err.size() > kShownBytes) err.remove_prefix(err.size() - kShownBytes);
  std::string text = valid_utf8(err);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return text;
}

}  // namespace

Result<AwsCredentials> parse_process_credentials(std::string_view text) {
  const nlohmann::json object = parse_bounded<nlohmann::json>(text);
  const Error bad{Code::invalid, "it printed no credentials", "",
                  "it has to print a JSON object with Version 1, AccessKeyId and SecretAccessKey"};
  if (!object.is_object()) return bad;
  const auto version = object.find("Version");
  if (version == object.end() || !version->is_number_integer() || version->get<int64_t>() != 1) return bad;
  AwsCredentials credentials;
  credentials.access_key = json_text(object, "AccessKeyId");
  credentials.secret_key = json_text(object, "SecretAccessKey");
  credentials.session_token = json_text(object, "SessionToken");
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return bad;
  const auto expiration = object.find("Expiration");
  if (expiration == object.end() || expiration->is_null()) return credentials;
  const auto expires_ns = parse_iso_date_ns(json_text(object, "Expiration"));
  if (!expires_ns)
    return Error{Code::invalid, "the Expiration that it printed is no time", "", "write it as 2026-11-15T09:30:00Z"};
  credentials.expires_realtime_ns = *expires_ns;
  return credentials;
}

Result<AwsCredentials> process_credentials(HttpClient& http, const std::string& command, const std::string& profile) {
  const std::string of_profile = "credential_process of the AWS profile " + profile;
  const auto failed = [&](Error error) {
    error.what = of_profile + ": " + error.what;
    return error;
  };
  const auto words = split_words(command);
  if (!words) return failed(words.error());
  const auto done =
      run_command(*words, system_clock().monotonic_ns() + kPatience_ns, [&] { return http.is_cancelled(); });
  if (!done) {
    Error error = failed(done.error());
    // Not being there is not the same as not being configured.
    if (error.code == Code::not_available || error.code == Code::denied) {
      error.code = Code::invalid;
      error.hint += "; write the whole path of the program (neither ~ nor $HOME is expanded)";
    }
    return error;
  }
  if (done->status != 0) {
    const std::string how = WIFSIGNALED(done->status)
                                ? "was killed by signal " + std::to_string(WTERMSIG(done->status))
                                : "ended with status " + std::to_string(WEXITSTATUS(done->status));
    const std::string said = last_words(done->err);
    return Error{Code::io, of_profile + " " + how + (said.empty() ? "" : ": " + said), "", "run it by hand"};
  }
  auto credentials = parse_process_credentials(done->out);
  if (!credentials) return failed(credentials.error());
  return credentials;
}

}  // namespace tacho
