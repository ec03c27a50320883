#include "net/google/bigquery.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/text.h"
#include "base/units.h"
#include "net/http/digest.h"
#include "net/http/json_text.h"
#include "net/http/retry.h"
#include "os/environment.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRoot = "/bigquery/v2";
constexpr const char* kQuery = "?alt=json&prettyPrint=false";
constexpr int64_t kRequestMs = 30'000, kQueryMs = 60'000, kQueryPollMs = 10'000;
constexpr int kQueryPageRows = 10'000, kFirstPageRows = 50, kLongPageRows = 10'000;
constexpr int kPageTries = 5;
constexpr int64_t kPageWaitMs = 500;

bool is_google(const Url& url) { return url.host == "googleapis.com" || url.host.ends_with(".googleapis.com"); }

std::string text_at(const Json& json, const Json::json_pointer& place) {
  return json.contains(place) && json.at(place).is_string() ? json.at(place).get<std::string>() : "";
}

// {"jobComplete":true,"rows":[{"f":[{"v":"42"}]}],"jobReference":{"jobId":"…","location":"EU"}}
bool first_number(const Json& answer, int64_t& number) {
  const auto parsed = parse_int<int64_t>(text_at(answer, "/rows/0/f/0/v"_json_pointer));
  if (parsed) number = *parsed;
  return parsed.has_value();
}

}  // namespace

Result<std::string> bq_base_url(std::string_view endpoint) {
  std::string text(trim(endpoint));
  if (text.empty()) text = environment("BIGQUERY_EMULATOR_HOST");
  if (text.empty()) text = kGoogleBigQuery;
  if (text.find("://") == std::string::npos) text = "http://" + text;
  const auto url = parse_url(text);
  if (!url || url->has_user || !url->query.empty())
    return Error{Code::invalid, "this is no address of BigQuery", text,
                 "write host:port or http(s)://host[:port][/path]"};
  while (text.ends_with('/')) text.pop_back();
  return url->path == "/" || url->path.empty() ? text + kRoot : text;
}

Status check_bq_name(std::string_view kind, std::string_view name) {
  const std::string_view more = kind == "project" ? "-_:." : kind == "table" ? "-_" : "_-";
  const auto good = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  };
  if (!name.empty() && name.size() <= 1024 && std::all_of(name.begin(), name.end(), good)) return ok();
  return Error{Code::invalid,
               name.empty() ? "a BigQuery " + std::string(kind) + " is needed"
                            : "this is no name of a BigQuery " + std::string(kind),
               std::string(name), "letters, digits, _ and -"};
}

Result<BigQuery> BigQuery::open(HttpClient& http, BqSettings settings, GoogleToken* token) {
  for (const auto& [kind, name] :
       {std::pair<std::string_view, std::string_view>{"project", settings.project}, {"dataset", settings.dataset}})
    if (const Status good = check_bq_name(kind, name); !good) return good.error();
  auto base = bq_base_url(settings.endpoint);
  if (!base) return base.error();
  settings.rows_per_request =
      std::clamp<size_t>(settings.rows_per_request == 0 ? kBqRows : settings.rows_per_request, 1, kBqMaxRows);
  BigQuery client(http, std::move(settings), token);
  client.base_url_ = std::move(*base);
  client.emulator_ = !is_google(*parse_url(client.base_url_));
  client.clear_text_ = !check_url(client.base_url_);
  return client;
}

std::string BigQuery::dataset_path() const {
  return "/projects/" + percent_encode(settings_.project, false) + "/datasets/" +
         percent_encode(settings_.dataset, false);
}

std::string BigQuery::table_path(const std::string& table) const {
  return dataset_path() + "/tables/" + percent_encode(table, false);
}

BqVerdict BigQuery::call(BqCall call, const char* method, const std::string& path, std::string body,
                         std::string& answer, const std::string& etag) {
  HttpRequest request;
  request.method = method;
  request.url = base_url_ + path + (path.find('?') == std::string::npos ? kQuery : "");
  request.accept_gzip = true;
  request.redirects = 2;
  request.response_ms = request.total_ms = limit_ms_ > 0 ? limit_ms_ : kRequestMs;
  request.connect_ms = std::min<int64_t>(request.connect_ms, request.total_ms);
  if (call == BqCall::query) request.response_ms = request.total_ms = kQueryMs;
  // In the clear a token is for loopback only.
  if (token_ != nullptr && !clear_text_) {
    auto token = token_->get();
    if (token) request.headers.emplace_back("Authorization", "Bearer " + *token);
    else if (token.error().code != Code::not_available || !emulator_) return classify_bq(token.error());
  }
  std::string plain;  // of a body that goes compressed
  if (!body.empty()) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.has_body = true;
    std::string packed = settings_.compress ? settings_.compress(body) : "";
    if (!packed.empty()) {
      request.headers.emplace_back("Content-Encoding", "gzip");
      plain = std::move(body);
    }
    request.body = packed.empty() ? std::move(body) : std::move(packed);
  }
  if (!etag.empty()) request.headers.emplace_back("If-Match", etag);
  auto response = http_->send(request);
  if (!response) return classify_bq(response.error());
  BqVerdict verdict = classify_bq(call, response->status, response->body, response->header("location"));
  // A server that does not want compressed bodies gets plain ones from now on.
  if (!plain.empty() && (verdict.status == 415 || (verdict.status == 400 && verdict.reason.empty()))) {
    settings_.compress = nullptr;
    return this->call(call, method, path, std::move(plain), answer, etag);
  }
  verdict.retry_after_ms = parse_retry_after_ms(response->header("retry-after"), system_clock().realtime_ns());
  answer = std::move(response->body);
  return verdict;
}

BqVerdict BigQuery::get_dataset() {
  std::string answer;
  return call(BqCall::get_dataset, "GET", dataset_path(), "", answer);
}

BqVerdict BigQuery::create_dataset() {
  Json body{{"datasetReference", {{"projectId", settings_.project}, {"datasetId", settings_.dataset}}}};
  if (!settings_.location.empty()) body["location"] = settings_.location;
  std::string answer;
  return call(BqCall::create_dataset, "POST", "/projects/" + percent_encode(settings_.project, false) + "/datasets",
              body.dump(), answer);
}

BqVerdict BigQuery::get_table(const std::string& table, BqTableInfo& info) {
  std::string answer;
  BqVerdict verdict = call(BqCall::get_table, "GET", table_path(table), "", answer);
  if (verdict.what != BqClass::done) return verdict;
  auto parsed = parse_bq_table(answer);
  if (!parsed) return classify_bq(parsed.error());
  info = std::move(*parsed);
  return verdict;
}

BqVerdict BigQuery::create_table(const BqTableSpec& spec) {
  Json body{
      {"tableReference", {{"projectId", settings_.project}, {"datasetId", settings_.dataset}, {"tableId", spec.table}}},
      {"schema", {{"fields", Json::parse(bq_fields_json(spec.fields))}}}};
  if (!spec.partition.empty()) {
    body["timePartitioning"] = {{"type", "DAY"}, {"field", spec.partition}};
    body["requirePartitionFilter"] = true;
  }
  std::string answer;
  return call(BqCall::create_table, "POST", dataset_path() + "/tables", body.dump(), answer);
}

BqVerdict BigQuery::patch_table(const std::string& table, const std::string& fields_json, const std::string& etag) {
  std::string answer;
  return call(BqCall::patch_table, "PATCH", table_path(table), "{\"schema\":{\"fields\":" + fields_json + "}}", answer,
              etag);
}

BqVerdict BigQuery::insert(const std::string& table, std::string_view rows_json) {
  std::string body = R"({"skipInvalidRows":false,"ignoreUnknownValues":false,"rows":[)";
  body.reserve(body.size() + rows_json.size() + 2);
  body.append(rows_json).append("]}");
  std::string answer;
  return call(BqCall::insert, "POST", table_path(table) + "/insertAll", std::move(body), answer);
}

// Starts it and waits until it is complete. job_path is where further pages are asked for.
BqVerdict BigQuery::run_query(const std::string& sql, int64_t max_bytes, int rows, std::string& answer,
                              std::string& job_path) {
  Json body{{"query", sql}, {"useLegacySql", false}, {"timeoutMs", kQueryPollMs}, {"maxResults", rows}};
  if (!settings_.location.empty()) body["location"] = settings_.location;
  if (max_bytes > 0) body["maximumBytesBilled"] = std::to_string(max_bytes);
  const std::string path = "/projects/" + percent_encode(settings_.project, false) + "/queries";
  BqVerdict verdict = call(BqCall::query, "POST", path, body.dump(), answer);
  const int64_t until_ns = system_clock().monotonic_ns() + kQueryMs * kNsPerMs;
  while (verdict.what == BqClass::done) {
    const Json text = parse_bounded<Json>(answer);
    const std::string job = text_at(text, "/jobReference/jobId"_json_pointer);
    const std::string location = text_at(text, "/jobReference/location"_json_pointer);
    job_path = job.empty()
                   ? ""
                   : path + "/" + percent_encode(job, false) + kQuery + "&timeoutMs=" + std::to_string(kQueryPollMs) +
                         (location.empty() ? "" : "&location=" + percent_encode(location, false));
    const auto complete = text.find("jobComplete");
    if (complete == text.end() || *complete != false) return verdict;
    if (job.empty() || system_clock().monotonic_ns() >= until_ns) {
      verdict.what = BqClass::retry;
      verdict.message = "the query is not done in time";
      return verdict;
    }
    verdict = call(BqCall::query, "GET", job_path + "&maxResults=" + std::to_string(rows), "", answer);
  }
  return verdict;
}

BqVerdict BigQuery::query_number(const std::string& sql, int64_t& number, int64_t max_bytes) {
  std::string text, job_path;
  BqVerdict verdict = run_query(sql, max_bytes, 1, text, job_path);
  if (verdict.what == BqClass::done && !first_number(parse_bounded<Json>(text), number))
    verdict.what = BqClass::retry, verdict.message = "the query gave no number";
  return verdict;
}

BqVerdict BigQuery::query_words(const std::string& sql, size_t most,
                                const std::function<void(std::string_view)>& take) {
  std::string text, job_path;
  BqVerdict verdict = run_query(sql, 0, kQueryPageRows, text, job_path);
  for (size_t taken = 0; verdict.what == BqClass::done;) {
    const Json answer = parse_bounded<Json>(text);
    const auto rows = answer.find("rows");
    const std::string page = json_text(answer, "pageToken");
    const size_t before = taken;
    if (rows != answer.end() && rows->is_array())
      for (const Json& row : *rows) {
        take(text_at(row, "/f/0/v"_json_pointer));
        ++taken;
      }
    if (page.empty()) return verdict;
    // A server that always has one more page is not followed for ever.
    if (taken == before || taken > most || job_path.empty()) {
      verdict.what = BqClass::blocked;
      verdict.message = "the query gives more rows than there can be";
      return verdict;
    }
    verdict = next_page(job_path, page, kQueryPageRows, text);
  }
  return verdict;
}

BqVerdict BigQuery::next_page(const std::string& job_path, const std::string& page, int rows, std::string& answer) {
  return call(BqCall::query, "GET",
              job_path + "&maxResults=" + std::to_string(rows) + "&pageToken=" + percent_encode(page, false), "",
              answer);
}

BqVerdict BigQuery::query_pages(const std::string& sql, int64_t max_bytes,
                                const std::function<Result<std::string>(std::string_view page)>& take) {
  std::string text, job_path;
  // Of the first page a tree is made to find the job; it is a short one.
  BqVerdict verdict = run_query(sql, max_bytes, kFirstPageRows, text, job_path);
  while (verdict.what == BqClass::done) {
    const Result<std::string> page = take(text);
    if (page && page->empty()) return verdict;
    if (!page || job_path.empty()) {
      verdict.what = BqClass::blocked;
      verdict.message = page ? "the query has more rows than it tells how to ask for" : page.error().message();
      return verdict;
    }
    // A page that does not come is asked for again: the ones before it were taken.
    verdict = next_page(job_path, *page, kLongPageRows, text);
    for (int tries = 0; verdict.what == BqClass::retry && tries < kPageTries; ++tries) {
      system_clock().wait({}, system_clock().monotonic_ns() + (kPageWaitMs << tries) * kNsPerMs);
      verdict = next_page(job_path, *page, kLongPageRows, text);
    }
  }
  return verdict;
}

BqVerdict BigQuery::dry_run(const std::string& sql, int64_t& bytes) {
  Json body{{"query", sql}, {"useLegacySql", false}, {"dryRun", true}};
  if (!settings_.location.empty()) body["location"] = settings_.location;
  std::string answer;
  BqVerdict verdict = call(BqCall::query, "POST", "/projects/" + percent_encode(settings_.project, false) + "/queries",
                           body.dump(), answer);
  if (verdict.what != BqClass::done) return verdict;
  const auto read = parse_int<int64_t>(json_text(parse_bounded<Json>(answer), "totalBytesProcessed"));
  bytes = read.value_or(0);
  return verdict;
}

void put_bq_row(std::string& out, std::string_view insert_id, std::string_view row_json) {
  if (!out.empty()) out += ',';
  out.append("{\"insertId\":\"").append(insert_id).append("\",\"json\":").append(row_json).append("}");
}

std::string bq_hash(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += '\0';
    text += parts[i];
  }
  return hex(sha256(text)).substr(0, 32);
}

}  // namespace tacho
