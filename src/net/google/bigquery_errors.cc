#include "net/google/bigquery_errors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/text.h"
#include "net/http/json_text.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMessageLimit = 300;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// {"error":{"code":403,"message":"…","errors":[{"reason":"quotaExceeded","message":"…"}],"status":"PERMISSION_DENIED"}}
void read_error(const Json& body, BqVerdict& verdict) {
  const auto error = body.is_object() ? body.find("error") : body.end();
  if (!body.is_object() || error == body.end() || !error->is_object()) return;
  verdict.message = json_text(*error, "message");
  const auto errors = error->find("errors");
  if (errors != error->end() && errors->is_array() && !errors->empty()) {
    verdict.reason = json_text((*errors)[0], "reason");
    if (verdict.message.empty()) verdict.message = json_text((*errors)[0], "message");
  }
  if (verdict.reason.empty()) verdict.reason = json_text(*error, "status");
}

bool is_temporary_reason(std::string_view reason) {
  constexpr std::array<std::string_view, 6> kReasons{"backendError", "internalError", "tableUnavailable",
                                                     "timeout",      "UNAVAILABLE",   "INTERNAL"};
  return std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

// "Request payload size exceeds the limit: 10485760 bytes.", "too many rows present in the request, limit: 10000"
bool says_too_large(const BqVerdict& verdict) {
  const std::string text = lower(verdict.message);
  return contains(text, "payload size") || contains(text, "too many rows") || contains(text, "too large") ||
         contains(text, "request size") || verdict.reason == "requestTooLarge" || verdict.reason == "uploadTooLarge";
}

BqClass class_of_400(BqCall call, const BqVerdict& verdict) {
  if (call == BqCall::patch_table) return BqClass::refused;
  if (call != BqCall::insert) return BqClass::blocked;
  return says_too_large(verdict) ? BqClass::too_large : BqClass::split;
}

BqClass class_of_403(BqCall call, const BqVerdict& verdict) {
  if (verdict.reason == "rateLimitExceeded" || verdict.reason == "RESOURCE_EXHAUSTED") return BqClass::retry;
  if (verdict.reason == "quotaExceeded") return BqClass::quota;
  return call == BqCall::patch_table ? BqClass::refused : BqClass::blocked;
}

BqClass class_of(BqCall call, const BqVerdict& verdict) {
  const bool creating = call == BqCall::create_dataset || call == BqCall::create_table;
  if (verdict.status >= 300 && verdict.status < 400) return BqClass::blocked;
  if (is_temporary_reason(verdict.reason)) return BqClass::retry;
  switch (verdict.status) {
    case 400: return class_of_400(call, verdict);
    case 401: return BqClass::token;
    case 403: return class_of_403(call, verdict);
    case 404: return BqClass::not_found;
    case 408:
    case 429: return BqClass::retry;
    case 409: return creating ? BqClass::done : BqClass::drop_batch;
    case 412: return call == BqCall::patch_table ? BqClass::changed : BqClass::drop_batch;
    case 413: return call == BqCall::insert ? BqClass::too_large : BqClass::blocked;
    case 501:
    case 505: return BqClass::drop_batch;
    default: return verdict.status >= 500 ? BqClass::retry : BqClass::drop_batch;
  }
}

// {"index":3,"errors":[{"reason":"invalid","location":"zone","debugInfo":"","message":"no such field: zone."}]}; the
// worst entry counts.
BqRowError row_error(const Json& entry) {
  BqRowError worst{BqRowError::kNoRow, BqRowClass::stopped, "", "", ""};
  if (!entry.is_object()) return worst;
  if (const auto index = entry.find("index"); index != entry.end() && index->is_number_unsigned())
    worst.index = index->get<size_t>();
  const auto errors = entry.find("errors");
  if (errors == entry.end() || !errors->is_array()) return worst;
  for (const Json& error : *errors) {
    BqRowError one{worst.index, BqRowClass::invalid, json_text(error, "reason"), json_text(error, "location"),
                   valid_utf8(json_text(error, "message").substr(0, kMessageLimit))};
    if (one.reason == "stopped") one.what = BqRowClass::stopped;
    else if (is_temporary_reason(one.reason) || one.reason == "rateLimitExceeded" || one.reason == "quotaExceeded")
      one.what = BqRowClass::retry;
    else if (contains(lower(one.message), "no such field")) one.what = BqRowClass::no_such_field;
    const auto weight = [](BqRowClass what) {
      return what == BqRowClass::stopped         ? 0
             : what == BqRowClass::retry         ? 1
             : what == BqRowClass::no_such_field ? 2
                                                 : 3;
    };
    if (worst.reason.empty() || weight(one.what) > weight(worst.what)) worst = one;
  }
  return worst;
}

BqVerdict of_success(BqCall call, int status, std::string_view body) {
  BqVerdict verdict;
  verdict.status = status;
  const Json json = parse_bounded<Json>(body);
  const auto errors = call == BqCall::insert && json.is_object() ? json.find("insertErrors") : json.end();
  const bool has_errors = json.is_object() && errors != json.end() && !errors->is_null();
  // The outcome is unknown: the same again.
  if (!json.is_object()) verdict.message = "the answer is cut off or no JSON";
  else if (json.contains("error") && json["error"].is_object())
    verdict.message = "the answer is an error with status 200";
  else if (has_errors && !errors->is_array()) verdict.message = "the answer's insertErrors cannot be read";
  else verdict.what = BqClass::done;
  if (verdict.what == BqClass::done && has_errors)
    for (const Json& entry : *errors) verdict.rows.push_back(row_error(entry));
  return verdict;
}

}  // namespace

BqVerdict classify_bq(BqCall call, int status, std::string_view body, std::string_view location) {
  if (status >= 200 && status < 300) return of_success(call, status, body);
  BqVerdict verdict;
  verdict.status = status;
  read_error(parse_bounded<Json>(body), verdict);
  verdict.what = class_of(call, verdict);
  if (verdict.message.empty() && status >= 300 && status < 400)
    verdict.message =
        "it redirects elsewhere" + (location.empty() ? std::string() : ", and the token is not sent there");
  // A page of HTML, or nothing: the status is all there is to say.
  if (verdict.message.empty()) verdict.message = "status " + std::to_string(status);
  verdict.message = valid_utf8(verdict.message.substr(0, kMessageLimit));
  return verdict;
}

BqVerdict classify_bq(const Error& error) {
  BqVerdict verdict;
  verdict.what = error.code == Code::io || error.code == Code::gone ? BqClass::retry : BqClass::blocked;
  // "It is tried again" is the caller's to say.
  verdict.message =
      Error{error.code, error.what, error.path, verdict.what == BqClass::blocked ? error.hint : ""}.message();
  return verdict;
}

}  // namespace tacho
