// A POST to the event service: the first line is the ce-type header, the rest the body. Also identity tokens, key sets,
// base64.
#include "base/base64.h"
#include "base/text.h"
#include "cromwell/caller_check.h"
#include "cromwell/cromwell_client.h"
#include "cromwell/posted_event.h"
#include "cromwell/sizes.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  using namespace tacho;
  const size_t line = std::min(text.find('\n'), text.size());
  const std::string type(text.substr(0, line));
  const std::string_view body = line < text.size() ? text.substr(line + 1) : std::string_view();
  std::vector<std::pair<std::string, std::string>> headers;
  if (!type.empty()) headers = {{"ce-type", type}, {"ce-subject", type}};
  for (const char* content_type : {"application/json", "application/cloudevents+json"}) {
    headers.emplace_back("content-type", content_type);
    const PostedEvent event = read_event(headers, body);
    require(event.kind != PostedEvent::Kind::workflow || event.id.size() == 36);
    for (const char c : event.id)
      require(c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
    headers.pop_back();
  }
  if (const auto jwt = parse_jwt(trim(body))) {
    CallerSettings settings;
    settings.audience = "a";
    require(jwt->algorithm == "RS256" || !refuse_claims(*jwt, settings, 0).empty());
  }
  (void)parse_jwks(body);
  (void)base64_decode(body);
  int64_t bytes = 0;
  require(classify_size(200, body, bytes) != SizeAnswer::known || bytes >= 0);
  require(gcs_object_url("", body).find_first_of(" ?#\n") == std::string::npos);
}
