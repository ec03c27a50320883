// What follows from one line of the table of job kinds.
#include "kube/api/job_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "kube/api/resource_watch.h"
#include "kube/webhook/job_templates.h"
#include "kube/webhook/owner_walk.h"

namespace tacho {
namespace {

// The owner walk knew paddleReplicaSpecs, and the choice of a template did not.
TEST(JobKinds, ReplicasOfEachAreKnownToTheOwnerWalkAndToTheTemplates) {
  for (const JobKind& kind : job_kinds()) {
    if (kind.shape != JobKind::Shape::replicas) continue;
    ASSERT_FALSE(kind.replica_specs.empty() || kind.leaders[0].empty()) << kind.kind;
    const Json replica = {{"replicas", 2}, {"template", Json::object()}};
    Json job = {{"apiVersion", std::string(kind.group) + "/v1"}, {"kind", kind.kind}, {"spec", Json::object()}};
    job["spec"][std::string(kind.replica_specs)] = {{"Worker", replica}, {std::string(kind.leaders[0]), replica}};
    EXPECT_EQ(read_owner(job).replicas.at("worker"), 2) << kind.kind;
    const JobTemplates both = find_templates(job, std::string(kind.kind));
    EXPECT_TRUE(both.known) << kind.kind;
    EXPECT_EQ(both.all.size(), 2u);
    EXPECT_EQ(both.chosen,
              "/spec/" + std::string(kind.replica_specs) + "/" + std::string(kind.leaders[0]) + "/template");
    job["spec"][std::string(kind.replica_specs)].erase(std::string(kind.leaders[0]));
    EXPECT_EQ(find_templates(job, std::string(kind.kind)).chosen.empty(), !kind.worker_serves) << kind.kind;
  }
}

TEST(JobKinds, WhatIsWatched) {
  const auto has = [](const std::vector<KindName>& kinds, const char* api_version, const char* kind) {
    return std::find(kinds.begin(), kinds.end(), KindName{api_version, kind}) != kinds.end();
  };
  const auto trials = usual_job_kinds(), inject = usual_job_kinds(true);
  const auto usual = [](const JobKind& kind) { return kind.use == JobKind::Use::usual; };
  EXPECT_EQ(inject.size(), static_cast<size_t>(std::ranges::count_if(job_kinds(), usual)));
  EXPECT_LT(trials.size(), inject.size()) << "a Trial runs none of the kinds that others make";
  EXPECT_TRUE(has(trials, "batch/v1", "Job") && has(trials, "trainer.kubeflow.org/v1alpha1", "TrainJob"));
  EXPECT_TRUE(has(inject, "jobset.x-k8s.io/v1alpha2", "JobSet"));
  EXPECT_FALSE(has(inject, "kubeflow.org/v1", "PaddleJob")) << "no package has rights for it";
}

}  // namespace
}  // namespace tacho
