#include "cromwell/log_source.h"

#include <array>

#include "base/backoff.h"
#include "base/units.h"
#include "cromwell/inputs.h"
#include "cromwell/metadata_file.h"
#include "net/http/retry.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/temporary_file.h"

namespace tacho {
namespace {

constexpr size_t kMostLine = 64 * 1024;
constexpr int kFetchTries = 6;
constexpr int64_t kLogIdleMs = 60'000;

Status lines_of(const MetadataFile& file, const std::function<void(std::string_view)>& line) {
  const JsonReader::Fill fill = file.reader();
  std::array<char, 64 * 1024> buffer;
  std::string open;
  for (;;) {
    const auto got = fill(buffer.data(), buffer.size());
    if (!got) return got.error();
    if (*got == 0) break;
    std::string_view rest(buffer.data(), *got);
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      open.append(rest.substr(0, end));
      line(open);
      open.clear();
      rest.remove_prefix(end + 1);
    }
    if (open.size() < kMostLine) open.append(rest);
  }
  if (!open.empty()) line(open);
  return ok();
}

void pause(Backoff& backoff) {
  system_clock().wait({}, system_clock().monotonic_ns() + backoff.next_ms(0.5) * kNsPerMs);
}

// GET {base}/b/{bucket}/o/{name}?alt=media, as the size look-ups address it.
Result<MetadataFile> download(const SizeSettings& storage, const std::string& path) {
  HttpClient http;
  GoogleToken token(http, storage.auth);
  auto file = open_temporary_file();
  if (!file) return file.error();
  Backoff backoff(storage.first_wait_ms, storage.last_wait_ms);
  const bool may_send_token = static_cast<bool>(check_url(storage.base_url));
  for (int tries = 1;; ++tries) {
    if (::ftruncate(file->get(), 0) != 0 || ::lseek(file->get(), 0, SEEK_SET) != 0)
      return Error{Code::io, "a temporary file cannot be emptied", "", ""};
    HttpRequest request;
    request.url = gcs_object_url(storage.base_url, path) + "?alt=media";
    if (!storage.user_project.empty()) request.url += "&userProject=" + percent_encode(storage.user_project, false);
    const auto bearer = may_send_token ? token.get() : Result<std::string>(std::string());
    // Asked without a token, the object would seem to be forbidden; only where there are no credentials at all that is
    // fair.
    if (!bearer && bearer.error().code != Code::not_available) {
      if (bearer.error().code != Code::io || tries >= kFetchTries) return bearer.error();
      pause(backoff);
      continue;
    }
    if (bearer && !bearer->empty()) request.headers.emplace_back("Authorization", "Bearer " + *bearer);
    request.idle_ms = kLogIdleMs;
    request.on_chunk = [&](std::string_view piece) { return static_cast<bool>(write_all(file->get(), piece)); };
    const auto answer = http.send(request);
    if (answer && answer->status == 200) return MetadataFile(std::move(*file));
    const int status = answer ? answer->status : 0;
    if (status == 401) token.refuse();
    const bool again = status == 401 || is_temporary_status(status);
    if (!again || tries >= kFetchTries)
      return answer ? Error{Code::io, "Cloud Storage answers " + std::to_string(status), path,
                            "check the path and the rights"}
                    : answer.error();
    pause(backoff);
  }
}

}  // namespace

LogSource make_log_source(const SizeSettings& storage) {
  return [storage](const std::string& path, const std::function<void(std::string_view)>& line) -> Status {
    auto file = is_gs_path(path) ? download(storage, path) : MetadataFile::open(path);
    if (!file) return file.error();
    return lines_of(*file, line);
  };
}

}  // namespace tacho
