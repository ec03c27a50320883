// AdmissionReview v1 as the API server sends it and as it is answered. Pure functions; thread-safe.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api/kube_event.h"
#include "kube/api/object.h"

namespace tacho {

inline constexpr size_t kReviewLimit = 3u << 20;    // bytes of a body; more is answered with 413
inline constexpr size_t kLargeReview = 128u << 10;  // bytes; of larger ones only few are worked on at a time
inline constexpr size_t kObjectValues = 100'000;    // of one object; its tree takes some 15 MB
inline constexpr size_t kWarningLimit = 119;        // characters; the API server wants less than 120

struct Review {
  std::string uid, ns, operation;
  std::string group, version, kind;  // of the object
  std::string resource_group, resource, sub_resource;
  bool dry_run = false;
  std::shared_ptr<Json> object;  // never empty; null when the request has none, or too_large
  bool too_large = false;        // more values or keys than anybody's pod has: no tree was made of it
};
// {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"…","object":{…},…}}. An Error says in
// one line why it is not one (for the 400). For a large body, only the object becomes a tree, and only within bounds.
Result<Review> parse_review(std::string_view body);
// The uid alone, without reading anything else: enough to answer a large review that nobody has time for. Empty when
// there is none.
std::string uid_of(std::string_view body);

struct ReviewAnswer {
  bool allowed = true;
  std::string patch;                  // an array of RFC 6902; empty: no change
  std::vector<std::string> warnings;  // for the person at kubectl
  std::vector<std::string> notes;     // for the log only
  std::string message;                // why it is not allowed
  EventSubject about;                 // what the warnings are about: the Trial, else the owner of the new object
  // For the metrics: injected, unchanged, warned, refused, error.
  const char* result = "unchanged";
};
std::string write_answer(const std::string& uid, const ReviewAnswer& answer);

// Cut to kWarningLimit characters, on one line.
std::string short_warning(std::string_view text);

}  // namespace tacho
