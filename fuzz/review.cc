// A review as anybody may send it, through the hooks: whatever the object is, the answer is a review, a patch applies,
// and a second pass over its own output changes nothing.
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kube/webhook/mutation.h"
#include "kube/webhook/registry.h"
#include "kube/webhook/review.h"
#include "target.h"

namespace {

using namespace tacho;

// Every Trial and every job is there, and is what the input says: the input's own object.
class AnyCluster : public Cluster {
 public:
  Lookup get(const ObjectKey& key, int64_t) override {
    if (key.kind == "ConfigMap" && key.name == "katib-config") return found(config);
    if (key.kind == "Namespace") return found(ns);
    if (key.kind == "Trial") return found(trial);
    if (key.kind == "Suggestion") return found(suggestion);
    return {Lookup::State::absent, nullptr, ""};
  }
  Lookup get_now(const ObjectKey& key, int64_t deadline_ns) override { return get(key, deadline_ns); }
  bool synced() const override { return true; }
  int server_minor() const override { return 30; }
  void on_trial(std::function<void(std::shared_ptr<const std::string>)>) override {}
  static Lookup found(const std::shared_ptr<const std::string>& text) { return {Lookup::State::found, text, ""}; }

  std::shared_ptr<const std::string> config = std::make_shared<const std::string>(
      R"({"data":{"katib-config.yaml":"runtime: {metricsCollectors: [{kind: StdOut, image: x}, {kind: File, image: x}, {kind: TensorFlowEvent, image: x}]}"}})");
  std::shared_ptr<const std::string> ns = std::make_shared<const std::string>(
      R"({"metadata":{"labels":{"katib.kubeflow.org/metrics-collector-injection":"enabled"}}})");
  std::shared_ptr<const std::string> suggestion =
      std::make_shared<const std::string>(R"({"spec":{"algorithm":{"algorithmName":"random"}}})");
  std::shared_ptr<const std::string> trial;
};

class SomeImages : public ImageCommands {
 public:
  std::optional<ImageCommand> find(const std::string&, const std::string&, int64_t) override {
    return ImageCommand{{"/entry"}, {"x"}};
  }
};

const char kTrial[] =
    R"({"metadata":{"name":"t","labels":{"katib.kubeflow.org/experiment":"e"}},"spec":{"primaryContainerName":"main",
  "objective":{"type":"maximize","objectiveMetricName":"m"},"earlyStoppingRules":[{"name":"m","value":"1","comparison":"less"}]}})";

void check(Mutation& mutation, const Review& review, bool pod) {
  Json before = *review.object;
  const ReviewAnswer answer = pod ? mutation.pod(review, 0) : mutation.job(review, 0);
  require(parse_json(write_answer(review.uid, answer)).has_value());
  for (const std::string& warning : answer.warnings) require(short_warning(warning).size() < 4 * 120);
  if (answer.patch.empty()) return;
  const std::optional<Json> operations = parse_json(answer.patch);
  require(operations && apply_json_patch(before, *operations));
  Review again = review;
  again.object = std::make_shared<Json>(before);
  require((pod ? mutation.pod(again, 0) : mutation.job(again, 0)).patch.empty());
}

}  // namespace

void fuzz_one(std::string_view text) {
  (void)parse_challenge(text);
  (void)parse_docker_config(text);
  (void)parse_image(text);
  (void)uid_of(text);
  // Padded with blanks it takes the way of the large ones, which must come to the same.
  const Result<Review> parsed = parse_review(text);
  const Result<Review> large = parse_review(std::string(kLargeReview, ' ').append(text));
  if (large && !large->too_large) {
    require(parsed && parsed->uid == large->uid && parsed->ns == large->ns && *parsed->object == *large->object);
  }
  if (!parsed) return;
  AnyCluster cluster;
  SomeImages images;
  SettingsSource settings(cluster, "kubeflow", "");
  // A Trial in the request itself stands in for the cluster's.
  const std::optional<Json> whole = parse_json(text);
  const Json* trial = whole ? tacho::find(*whole, {"request", "oldObject"}) : nullptr;
  cluster.trial =
      std::make_shared<const std::string>(trial != nullptr && trial->is_object() ? dump_json(*trial) : kTrial);
  Mutation mutation(cluster, settings, images, "db:6789");
  try {
    for (const bool pod : {true, false}) {
      Review review = *parsed;
      review.object = std::make_shared<Json>(*parsed->object);
      check(mutation, review, pod);
    }
  } catch (const std::exception&) {
    // The webhook answers this by "allowed" with a warning.
  }
}
