#include "cromwell/cromwell_client.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/backoff.h"
#include "base/chance.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cromwell/small_json.h"
#include "net/http/retry.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/temporary_file.h"

namespace tacho {
namespace {

// Prefixes of stored keys. subWorkflowId is what makes expansion work; vm stands for vmStartTime, vmEndTime,
// vmCostPerHour.
constexpr std::array<std::string_view, 17> kInclude = {"workflowName",
                                                       "status",
                                                       "start",
                                                       "end",
                                                       "submission",
                                                       "subWorkflowId",
                                                       "jes",
                                                       "gcpBatch",
                                                       "preemptible",
                                                       "executionStatus",
                                                       "runtimeAttributes",
                                                       "dockerImageUsed",
                                                       "inputs",
                                                       "vm",
                                                       "jobId",
                                                       "returnCode",
                                                       "callCaching:hit"};
// For servers that refuse the list above.
constexpr std::array<std::string_view, 17> kExclude = {"submittedFiles",
                                                       "workflowProcessingEvents",
                                                       "executionEvents",
                                                       "workflowRoot",
                                                       "callRoot",
                                                       "callCaching",
                                                       "outputs",
                                                       "commandLine",
                                                       "failures",
                                                       "returnCode",
                                                       "stderr",
                                                       "stdout",
                                                       "monitoringLog",
                                                       "backend",
                                                       "compressedDockerSize",
                                                       "labels",
                                                       "jobId"};

constexpr int64_t kConnectMs = 10'000, kIdleMs = 60'000;

// "Metadata for workflow … cannot be served because row count of 1200000 exceeds configured limit of 1000000."
bool is_too_large(const std::string& body) {
  const std::string text = lower(std::string_view(body).substr(0, 4096));
  return text.find("exceeds configured limit") != std::string::npos || text.find("too large") != std::string::npos ||
         (text.find("row count") != std::string::npos && text.find("limit") != std::string::npos);
}

std::string what_it_said(int status, const std::string& body) {
  std::string message = small_json_text(body, {"message"});
  if (message.empty()) message = std::string(trim(std::string_view(body).substr(0, 200)));
  const char* const hint =
      status == 401 || status == 403 ? " (set CROMWELL_ACCESS_TOKEN to a token that it takes)" : "";
  return "Cromwell answers " + std::to_string(status) + (message.empty() ? "" : ": " + message.substr(0, 500)) + hint;
}

}  // namespace

Result<std::string> cromwell_base_url(std::string_view text) {
  std::string url(trim(text));
  while (url.ends_with('/')) url.pop_back();
  const auto parts = parse_url(url);
  if (!parts || parts->has_user || !parts->query.empty())
    return Error{Code::invalid, "this is no address of a Cromwell server", url, "write http(s)://host[:port][/path]"};
  return url;
}

bool may_be_workflow_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestWorkflowId && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

bool is_workflow_id(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

CromwellClient::CromwellClient(CromwellSettings settings)
    : settings_(std::move(settings)), token_(http_, settings_.auth) {}

std::string CromwellClient::url(const std::string& id, Form form) const {
  const bool include = form == Form::include || form == Form::include_flat;
  const bool expand = form == Form::include || form == Form::exclude;
  std::string text = settings_.base_url + "/api/workflows/v1/" + percent_encode(id, false) +
                     "/metadata?expandSubWorkflows=" + (expand ? "true" : "false");
  for (const std::string_view key : include ? kInclude : kExclude)
    text.append(include ? "&includeKey=" : "&excludeKey=").append(percent_encode(key, false));
  return text;
}

Result<std::string> CromwellClient::bearer() {
  if (!settings_.use_token) return std::string();
  if (!settings_.access_token.empty()) return settings_.access_token;
  auto token = token_.get();
  if (!token && token.error().code == Code::not_available) return std::string();  // an open server needs none
  return token;
}

CromwellClient::Attempt CromwellClient::attempt(const std::string& url, int fd) {
  Attempt result;
  HttpRequest request;
  request.url = url;
  request.connect_ms = kConnectMs;
  request.idle_ms = kIdleMs;
  request.headers = {{"Accept", "application/json"}, {"Accept-Encoding", "gzip"}};
  const auto token = bearer();
  if (!token) {
    result.why = token.error().message();
    result.fatal = token.error().code != Code::io;
    return result;
  }
  if (!token->empty()) {
    if (const Status status = check_url(settings_.base_url); !status) {
      result.why = status.error().message() + "; --cromwell-auth=none sends no token";
      result.fatal = true;
      return result;
    }
    request.headers.emplace_back("Authorization", "Bearer " + *token);
  }
  int64_t bytes = 0;
  request.on_chunk = [&](std::string_view piece) {
    const Status status = write_all(fd, piece);
    bytes += static_cast<int64_t>(piece.size());
    if (settings_.on_bytes) settings_.on_bytes(bytes);
    if (!status) log::warn(status.error());
    return static_cast<bool>(status);
  };
  const auto answer = http_.send(request);
  if (!answer) {
    result.why = answer.error().message();
    result.fatal = answer.error().code != Code::io;
    if (answer.error().code == Code::gone) result.why = "the metadata could not be kept (check the room in TMPDIR)";
    return result;
  }
  result.status = answer->status;
  result.body = answer->body;
  result.retry_after_ms = parse_retry_after_ms(answer->header("retry-after"), system_clock().realtime_ns());
  if (result.status / 100 != 2) result.why = what_it_said(result.status, result.body);
  return result;
}

Fetched CromwellClient::fetch(const std::string& id) {
  auto file = open_temporary_file();
  if (!file) return {nullptr, false, file.error().message()};
  Form form = Form::include;
  Backoff backoff(settings_.first_wait_ms, settings_.last_wait_ms);
  bool new_token = false;
  for (int tries = 1;; ++tries) {
    if (::ftruncate(file->get(), 0) != 0 || ::lseek(file->get(), 0, SEEK_SET) != 0)
      return {nullptr, false, "a temporary file cannot be emptied"};
    const Attempt answer = attempt(url(id, form), file->get());
    if (answer.status / 100 == 2) return {std::make_unique<MetadataFile>(std::move(*file)), false, ""};
    if (answer.fatal) return {nullptr, false, answer.why};
    if (answer.status >= 400 && is_too_large(answer.body)) {
      // More than the server gives out at once: each sub-workflow is then fetched alone.
      if (form != Form::include && form != Form::exclude)
        return {nullptr, false, answer.why + " (save the metadata from the database and use --metadata FILE)"};
      form = form == Form::include ? Form::include_flat : Form::exclude_flat;
      --tries;
    } else if (answer.status == 400 && form == Form::include) {
      form = Form::exclude;
      --tries;
    } else if (answer.status == 400 && form == Form::exclude) {
      form = Form::exclude_flat;
      --tries;
    } else if (answer.status == 401 && !new_token) {
      new_token = true;
      token_.refuse();
      --tries;
    } else if (answer.status == 404) {
      return {nullptr, true, answer.why};  // metadata is written with a delay
    } else if (!is_temporary_status(answer.status)) {
      return {nullptr, answer.status == 401 || answer.status == 403, answer.why};
    } else if (tries >= settings_.tries) {
      return {nullptr, true, answer.why};
    } else {
      const int64_t wait_ms = backoff.next_ms(chance(), answer.retry_after_ms);
      system_clock().wait({}, system_clock().monotonic_ns() + wait_ms * kNsPerMs);
    }
  }
}

}  // namespace tacho
