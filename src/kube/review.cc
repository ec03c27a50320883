#include "kube/review.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kube/certificates.h"

namespace tacho {
namespace {

Error refuse(const char* what) { return {Code::invalid, what, "", "send an AdmissionReview of admission.k8s.io/v1"}; }

}  // namespace

Result<Review> parse_review(std::string_view body) {
  std::optional<Json> parsed = parse_json(body);
  if (!parsed) return refuse("the body is no JSON, is not UTF-8, or is nested too deeply");
  if (!parsed->is_object()) return refuse("the body is no JSON object");
  if (text_at(*parsed, {"kind"}) != "AdmissionReview") return refuse("the body is no AdmissionReview");
  if (text_at(*parsed, {"apiVersion"}) != "admission.k8s.io/v1")
    return refuse("this version of AdmissionReview is not spoken");
  const auto request = parsed->find("request");
  if (request == parsed->end() || !request->is_object()) return refuse("the AdmissionReview has no request");
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
