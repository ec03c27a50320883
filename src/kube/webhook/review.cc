#include "kube/webhook/review.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kube/webhook/certificates.h"

namespace tacho {
namespace {

constexpr size_t kSmall = 16u << 10;  // bytes of what is read beside the object

Error refuse(const char* what) { return {Code::invalid, what, "", "send an AdmissionReview of admission.k8s.io/v1"}; }

Result<Review> read_review(Json parsed) {
  if (!parsed.is_object()) return refuse("the body is no JSON object");
  if (text_at(parsed, {"kind"}) != "AdmissionReview") return refuse("the body is no AdmissionReview");
  if (text_at(parsed, {"apiVersion"}) != "admission.k8s.io/v1")
    return refuse("this version of AdmissionReview is not spoken");
  const auto request = parsed.find("request");
  if (request == parsed.end() || !request->is_object()) return refuse("the AdmissionReview has no request");
  Review review;
  review.uid = text_at(*request, {"uid"});
  if (review.uid.empty()) return refuse("the request has no uid");
  review.ns = text_at(*request, {"namespace"});
  review.operation = text_at(*request, {"operation"});
  review.group = text_at(*request, {"kind", "group"});
  review.version = text_at(*request, {"kind", "version"});
  review.kind = text_at(*request, {"kind", "kind"});
  review.resource_group = text_at(*request, {"resource", "group"});
  review.resource = text_at(*request, {"resource", "resource"});
  review.sub_resource = text_at(*request, {"subResource"});
  const Json* dry_run = find(*request, {"dryRun"});
  review.dry_run = dry_run != nullptr && dry_run->is_boolean() && dry_run->get<bool>();
  const auto object = request->find("object");
  review.object = std::make_shared<Json>(object == request->end() ? Json() : std::move(*object));
  return review;
}

// The review without its objects and whatever else is large; `object` is the text of the one that counts.
std::optional<Json> without_object(std::string_view body, std::string_view& object) {
  Json out = Json::object();
  const auto add = [](Json& to, std::string_view key, std::string_view value) {
    if (key.size() > 64 || to.size() > 64) return;
    std::optional<Json> parsed = value.size() > kSmall ? std::nullopt : parse_json(value);
    to[std::string(key)] = parsed ? std::move(*parsed) : Json();  // of two with one name, the last counts
  };
  const bool whole = each_member_of(body, [&](std::string_view key, std::string_view value) {
    if (key == "request") object = "null";
    if (key != "request" || value[0] != '{') return add(out, key, value);
    Json& request = out["request"] = Json::object();
    each_member_of(value, [&](std::string_view name, std::string_view text) {
      if (name == "object") object = text;
      else add(request, name, text);
    });
  });
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

Result<Review> parse_review(std::string_view body) {
  constexpr JsonLimits kWhole{20'000, 1'000'000}, kObject{kObjectValues, 20'000'000};
  const JsonSize size = measure_json(body);
  if (size.depth > kJsonDepth) return refuse("the body is nested too deeply");
  if (body.size() <= kLargeReview && size.values <= kWhole.values && size.comparisons <= kWhole.comparisons) {
    std::optional<Json> parsed = parse_json(body);
    if (!parsed) return refuse("the body is no JSON, or is not UTF-8");
    return read_review(std::move(*parsed));
  }
  // Checked as a whole without a tree, then only what is needed is read.
  if (body.find('\0') != std::string_view::npos || !Json::accept(body))
    return refuse("the body is no JSON, or is not UTF-8");
  std::string_view object = "null";
  std::optional<Json> head = without_object(body, object);
  if (!head) return refuse("the AdmissionReview holds more than one can");
  Result<Review> review = read_review(std::move(*head));
  if (!review) return review;
  std::optional<Json> tree = parse_json(object, kObject);
  review->too_large = !tree;
  if (tree) *review->object = std::move(*tree);
  return review;
}

std::string uid_of(std::string_view body) {
  std::string uid;
  each_member_of(body, [&](std::string_view key, std::string_view value) {
    if (key != "request") return;
    each_member_of(value, [&](std::string_view name, std::string_view text) {
      if (name != "uid") return;
      const std::optional<Json> parsed = parse_json(text);
      uid = parsed && parsed->is_string() ? parsed->get<std::string>() : "";
    });
  });
  return uid;
}

std::string write_answer(const std::string& uid, const ReviewAnswer& answer) {
  Json response = Json::object();
  response["uid"] = uid;
  response["allowed"] = answer.allowed;
  if (!answer.allowed) response["status"] = {{"code", 422}, {"message", answer.message}};
  if (answer.allowed && !answer.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = to_base64(answer.patch);
  }
  if (!answer.warnings.empty()) {
    Json& warnings = response["warnings"] = Json::array();
    for (const std::string& warning : answer.warnings) warnings.push_back(short_warning(warning));
  }
  Json review = Json::object();
  review["apiVersion"] = "admission.k8s.io/v1";
  review["kind"] = "AdmissionReview";
  review["response"] = std::move(response);
  return dump_json(review);
}

std::string short_warning(std::string_view text) {
  std::string clean = valid_utf8(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  size_t at = 0, characters = 0, cut = 0;
  while (at < clean.size()) {
    if (characters == kWarningLimit - 3) cut = at;
    if (++characters > kWarningLimit) return clean.substr(0, cut) + "...";
    at += std::max<size_t>(1, utf8_length(std::string_view(clean).substr(at)));
  }
  return clean;
}

}  // namespace tacho
