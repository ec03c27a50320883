// What S3, STS and any other server may answer: XML, dates, regions, Retry-After, and the files of the AWS tools.
#include <string>

#include "base/backoff.h"
#include "base/time_text.h"
#include "net/aws/aws_metadata.h"
#include "net/aws/aws_process.h"
#include "net/aws/aws_profile.h"
#include "net/aws/aws_sso.h"
#include "net/aws/aws_sso_token.h"
#include "net/aws/s3_address.h"
#include "net/aws/sigv4.h"
#include "net/aws/xml.h"
#include "net/http/digest.h"
#include "net/http/http_debug.h"
#include "net/http/retry.h"
#include "os/command.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  const std::string code = tacho::xml_text(text, "Code");
  require(code.size() <= text.size());
  require(tacho::classify_s3(400, code, false) != tacho::ErrorClass::none);
  tacho::HttpResponse answer;
  answer.body = text;
  answer.headers = {{"location", std::string(text)}, {"x-amz-bucket-region", std::string(text)}};
  // A region becomes part of a host name that gets our signature.
  const std::string region = tacho::region_in_answer(answer);
  require(region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos &&
          region.size() <= 63);

  const int64_t wait_ms = tacho::parse_retry_after_ms(text, 0);
  require(wait_ms >= 0 && wait_ms <= tacho::kMaxRetryAfterMs);
  (void)tacho::parse_iso_date_ns(text);
  (void)tacho::parse_aws_section(text, "default");
  (void)tacho::parse_aws_credentials_json(text);
  (void)tacho::parse_process_credentials(text);
  (void)tacho::parse_role_credentials(text);
  (void)tacho::renewed_sso_token(text, text, 0);
  if (const auto token = tacho::parse_sso_token(text, 0)) require(token->text.find('\n') == std::string::npos);
  if (const auto words = tacho::split_words(text)) {
    size_t size = 0;
    for (const std::string& word : *words) size += word.size();
    require(size <= text.size());
  }
  (void)tacho::masked_header(text);
  require(tacho::percent_decode(tacho::percent_encode(text, true)) == text);
  const std::string query = tacho::canonical_query(text);
  require(tacho::canonical_query(query) == query);
  if (const auto place = tacho::parse_s3_uri(text))
    require("s3://" + place->bucket == "s3://" + std::string(text.substr(5, place->bucket.size())));
  // Wherever a redirect leads, it is the same host under TLS.
  if (const auto target = tacho::follow_redirect("https://host.example/a", std::string(text))) {
    const auto url = tacho::parse_url(*target);
    require(url && url->host == "host.example" && url->scheme == "https" && url->port == 443);
  }
}
