#include "net/aws/s3_address.h"

#include <algorithm>

#include "base/text.h"
#include "net/aws/aws_partition.h"
#include "net/aws/xml.h"
#include "net/http/url.h"

namespace tacho {
namespace {

// Can it be the first label of a host name under a certificate for *.s3.…? A dot or an upper-case letter says no.
bool is_host_label(std::string_view bucket) {
  return bucket.size() <= 63 &&
         bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

bool is_bucket(std::string_view text) {
  return !text.empty() && text.size() <= 255 && text != "." && text != ".." &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._") ==
             std::string_view::npos;
}

// bucket.s3.eu-west-1.amazonaws.com → eu-west-1; s3.amazonaws.com has none.
std::string region_in_host(std::string_view host) {
  const size_t end = host.find(".amazonaws.com");
  if (end == std::string_view::npos) return {};
  host = host.substr(0, end);
  // The last s3 label: a bucket may be called s3 too.
  const size_t dot = host.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? host : host.substr(dot + 1);
  if (last.starts_with("s3-")) return std::string(last.substr(3));
  const std::string_view before = dot == std::string_view::npos ? "" : host.substr(0, dot);
  return before == "s3" || before.ends_with(".s3") ? std::string(last) : "";
}

}  // namespace

Result<S3Location> parse_s3_uri(std::string_view uri) {
  if (lower(uri.substr(0, 5)) != "s3://") {
    return Error{Code::invalid, "this is not an S3 place", std::string(uri), "write it as s3://bucket/prefix"};
  }
  const std::string_view rest = uri.substr(5);
  const size_t slash = std::min(rest.find('/'), rest.size());
  S3Location location{std::string(rest.substr(0, slash)),
                      std::string(slash < rest.size() ? rest.substr(slash + 1) : "")};
  if (!is_bucket(location.bucket)) {
    return Error{Code::invalid, "this is not the name of a bucket", location.bucket, "write it as s3://bucket/prefix"};
  }
  return location;
}

bool is_region(std::string_view text) { return !text.empty() && text.front() != '-' && is_host_label(text); }

Result<S3Address> s3_address(const S3Settings& settings, const S3Location& location, const std::string& region) {
  if (!is_bucket(location.bucket)) {
    return Error{Code::invalid, "this is not the name of a bucket", location.bucket, "write it as s3://bucket/prefix"};
  }
  if (!is_region(region))
    return Error{Code::invalid, "this is not the name of a region", region, "check TACHO_S3_REGION"};
  std::string endpoint = settings.endpoint;
  if (endpoint.empty()) endpoint = "https://s3." + region + "." + std::string(aws_domain(region));
  if (const Status allowed = check_url(endpoint); !allowed) return allowed.error();
  const Result<Url> base = parse_url(endpoint);
  if (!base) return base.error();
  const bool path_style = settings.path_style.value_or(!settings.endpoint.empty() || !is_host_label(location.bucket));
  std::string path = percent_encode(percent_decode(base->path), true);
  while (path.ends_with('/')) path.pop_back();
  S3Address address;
  if (path_style) path.append("/").append(percent_encode(location.bucket, false));
  address.path = path + "/" + percent_encode(location.key, true);
  address.host = (path_style ? "" : location.bucket + ".") + base->host_header();
  address.url = base->scheme + "://" + address.host + address.path;
  return address;
}

std::string s3_region_probe_url(const std::string& bucket) {
  return is_host_label(bucket) ? "https://" + bucket + ".s3.amazonaws.com/"
                               : "https://s3.amazonaws.com/" + percent_encode(bucket, false);
}

std::string region_in_answer(const HttpResponse& answer) {
  const std::string found[] = {std::string(trim(answer.header("x-amz-bucket-region"))), xml_text(answer.body, "Region"),
                               region_in_host(lower(xml_text(answer.body, "Endpoint")))};
  for (const std::string& region : found) {
    if (is_region(region)) return region;
  }
  const Result<Url> location = parse_url(std::string(answer.header("location")));
  const std::string region = location ? region_in_host(location->host) : "";
  return is_region(region) ? region : "";
}

}  // namespace tacho
