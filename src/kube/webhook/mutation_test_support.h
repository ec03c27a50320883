// The hooks over a cluster of a few objects, for tests: fixtures of tests/fixtures/kube go in, patched objects come
// out.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kube/api/cluster_test_support.h"
#include "kube/webhook/mutation.h"

namespace tacho {

using Words = std::vector<std::string>;
inline constexpr const char* kLogger = "metrics-logger-and-collector";

class FakeImages : public ImageCommands {
 public:
  std::optional<ImageCommand> find(const std::string& image, const std::string&, int64_t) override {
    asked.push_back(image);
    return command;
  }
  std::optional<ImageCommand> command;
  Words asked;
};

struct Outcome {
  ReviewAnswer answer;
  Json object;      // after the patch
  Json operations;  // of the patch
};

class MutationTest : public ::testing::Test {
 protected:
  MutationTest()
      : settings_(cluster_, "kubeflow", "", 0),
        mutation_(cluster_, settings_, images_, "katib-db-manager.kubeflow:6789") {
    cluster_.put(kube_fixture("katib_config.json"));
    label("enabled");
  }

  void label(const std::string& value) {
    Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "team"}}}};
    if (!value.empty()) ns["metadata"]["labels"][kNamespaceLabel] = value;
    cluster_.put(ns);
  }
  void configure(const std::map<std::string, std::string>& data) {
    Json map = {{"apiVersion", "v1"},
                {"kind", "ConfigMap"},
                {"metadata", {{"name", "tacho-config"}, {"namespace", "kubeflow"}}}};
    for (const auto& [key, value] : data) map["data"][key] = value;
    cluster_.put(map);
  }
  // All objects of a fixture but its pods are in the cluster.
  Json load(const std::string& name) {
    Json parts = kube_fixture(name + ".json");
    for (const auto& [key, part] : parts.items()) {
      if (key != "pod" && key != "pods") cluster_.put(part);
    }
    return parts;
  }
  static Review review_of(const Json& object, const std::string& resource) {
    Review review;
    review.uid = std::string("u-1");
    review.ns = "team";
    review.operation = "CREATE";
    review.resource = resource;
    review.kind = text_at(object, {"kind"});
    review.object = std::make_shared<Json>(object);
    return review;
  }
  Outcome run(const Json& object, bool pod) {
    Outcome out;
    const Review review = review_of(object, pod ? "pods" : "jobs");
    out.answer = pod ? mutation_.pod(review, 0) : mutation_.job(review, 0);
    out.object = object;
    out.operations = Json::array();
    if (!out.answer.patch.empty()) {
      out.operations = Json::parse(out.answer.patch);
      EXPECT_TRUE(apply_json_patch(out.object, out.operations)) << out.answer.patch;
      // The same again: nothing is left to be done.
      const Review second = review_of(out.object, pod ? "pods" : "jobs");
      const ReviewAnswer again = pod ? mutation_.pod(second, 0) : mutation_.job(second, 0);
      EXPECT_EQ(again.patch, "") << again.patch;
    }
    for (const std::string& warning : out.answer.warnings) EXPECT_LT(short_warning(warning).size(), 120u);
    return out;
  }
  Outcome pod(const Json& object) { return run(object, true); }
  Outcome job(const Json& object) {
    label("");
    return run(object, false);
  }

  static const Json& container(const Json& pod, const std::string& name, const char* list = "containers") {
    static const Json kNone;
    const Json* found = find(pod, {"spec", list});
    if (found != nullptr) {
      for (const Json& one : *found) {
        if (text_at(one, {"name"}) == name) return one;
      }
    }
    return kNone;
  }
  static Words args(const Json& container) { return container.value("args", Words{}); }
  static Words command(const Json& container) { return container.value("command", Words{}); }

  FakeCluster cluster_;
  FakeImages images_;
  SettingsSource settings_;
  Mutation mutation_;
};

}  // namespace tacho
