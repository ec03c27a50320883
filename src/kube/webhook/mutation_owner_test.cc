// Which pods and jobs are a Trial's, and which of them carry the collector.
#include "kube/webhook/mutation_test_support.h"

namespace tacho {
namespace {

TEST_F(MutationTest, OnlyPrimaryPodsOfAJob) {
  const Json parts = load("pytorchjob");
  const Outcome master = pod(parts["pods"]["master-0"]);
  EXPECT_FALSE(container(master.object, kLogger).is_null());
  const Words words = args(container(master.object, kLogger));
  EXPECT_EQ(words.back(), "replace");
  const Outcome worker = pod(parts["pods"]["worker-0"]);
  EXPECT_EQ(worker.object["spec"]["containers"].size(), 1u);
  EXPECT_EQ(worker.object["metadata"]["labels"]["katib.kubeflow.org/trial"], "pytorchjob-x1")
      << "labels and name go to every pod of the job";
  EXPECT_TRUE(worker.object["spec"]["containers"][0].contains("env"));
}

TEST_F(MutationTest, SeveralPrimaryPods) {
  const Json parts = load("tfjob");
  Outcome out = pod(parts["pods"]["worker-1"]);
  Words words = args(container(out.object, "metrics-collector"));
  EXPECT_EQ(std::count(words.begin(), words.end(), "--attempts"), 0) << "another pod's rows would be deleted";
  ASSERT_EQ(out.answer.warnings.size(), 1u);
  EXPECT_NE(out.answer.warnings[0].find("2 pods"), std::string::npos);
  EXPECT_EQ(words[9], "/train");
  configure({{"multiple", "first"}});
  out = pod(parts["pods"]["worker-1"]);
  words = args(container(out.object, "metrics-collector"));
  EXPECT_EQ(Words(words.end() - 2, words.end()), Words({"--active-when", "TACHO_REPLICA_INDEX=0"}));
  EXPECT_EQ(
      container(out.object, "metrics-collector")["env"][0],
      Json::parse(
          R"({"name":"TACHO_REPLICA_INDEX","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['training.kubeflow.org/replica-index']"}}})"));
}

TEST_F(MutationTest, WorkersWithoutThePrimaryContainerAreLeftAlone) {
  const Json parts = load("mpijob");
  EXPECT_EQ(pod(parts["pods"]["worker-0"]).answer.patch, "");
  EXPECT_TRUE(pod(parts["pods"]["worker-0"]).answer.warnings.empty());
  const Words words = command(container(pod(parts["pods"]["launcher"]).object, "mpi-launcher"));
  EXPECT_EQ(Words(words.end() - 7, words.end()),
            Words({"mpirun", "-np", "2", "--allow-run-as-root", "python", "-u", "train.py"}));
}

TEST_F(MutationTest, LongChains) {
  const Json parts = load("trainjob");
  const Outcome first = pod(parts["pods"]["node-0"]);
  EXPECT_EQ(args(container(first.object, kLogger))[1], "trainjob-x1") << "four owners deep";
  EXPECT_EQ(args(container(first.object, kLogger)).back(), "replace");
  EXPECT_TRUE(container(pod(parts["pods"]["node-1"]).object, kLogger).is_null());
  const Json argo = load("argo");
  EXPECT_FALSE(container(pod(argo["pods"]["train"]).object, kLogger).is_null());
  EXPECT_TRUE(container(pod(argo["pods"]["data"]).object, kLogger).is_null());
  EXPECT_FALSE(container(pod(load("tekton")["pods"]["train"]).object, kLogger).is_null());
  const Outcome bare = pod(load("bare_pod")["pod"]);
  EXPECT_EQ(args(container(bare.object, kLogger))[1], "pod-x1");
}

TEST_F(MutationTest, NotOurs) {
  const Json parts = load("random");
  Json stranger = parts["pod"];
  stranger["metadata"].erase("ownerReferences");
  EXPECT_STREQ(pod(stranger).answer.result, "unchanged");
  // Owners in a circle.
  Json a = parts["job"], b = parts["job"];
  a["metadata"] = Json::parse(
      R"({"name":"a","namespace":"team","uid":"ua","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"b","uid":"ub"}]})");
  b["metadata"] = Json::parse(
      R"({"name":"b","namespace":"team","uid":"ub","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"ua"}]})");
  cluster_.put(a), cluster_.put(b);
  Json ring = parts["pod"];
  ring["metadata"]["ownerReferences"] =
      Json::parse(R"([{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"ua"}])");
  cluster_.lookups = 0;
  EXPECT_EQ(pod(ring).answer.patch, "");
  EXPECT_LT(cluster_.lookups, 10);
  // An owner that is gone, and another of the same name.
  Json orphan = parts["pod"];
  orphan["metadata"]["ownerReferences"][0]["name"] = "gone";
  EXPECT_STREQ(pod(orphan).answer.result, "unchanged");
  Json other = parts["pod"];
  other["metadata"]["ownerReferences"][0]["uid"] = "another";
  EXPECT_STREQ(pod(other).answer.result, "unchanged");
}

TEST_F(MutationTest, APodMayOptOut) {
  Json parts = load("random");
  parts["pod"]["metadata"]["labels"][kNamespaceLabel] = "disabled";
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "unchanged");
  parts["job"]["spec"]["template"]["metadata"]["labels"][kNamespaceLabel] = "disabled";
  EXPECT_EQ(job(parts["job"]).object["spec"]["template"]["spec"]["containers"].size(), 1u);
}

TEST_F(MutationTest, DeepChainsEnd) {
  Json pod_object = load("random")["pod"];
  for (int i = 0; i < 40; i++) {
    Json job = Json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"team"}})");
    job["metadata"]["name"] = std::string("j") + std::to_string(i);
    job["metadata"]["uid"] = std::string("u") + std::to_string(i);
    job["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", std::string("j") + std::to_string(i + 1)},
                                                       {"uid", std::string("u") + std::to_string(i + 1)}}});
    cluster_.put(job);
  }
  pod_object["metadata"]["ownerReferences"][0] = {
      {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j0"}, {"uid", "u0"}};
  cluster_.lookups = 0;
  EXPECT_EQ(pod(pod_object).answer.patch, "");
  EXPECT_LT(cluster_.lookups, 14);
}

TEST_F(MutationTest, TrialGoneOrUnreadable) {
  const Json parts = load("random");
  cluster_.remove({kTrialVersion, "Trial", "team", "random-x1"});
  Outcome out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_EQ(out.answer.patch, "");
  EXPECT_STREQ(out.answer.result, "warned");
  EXPECT_NE(out.answer.warnings.at(0).find("is gone"), std::string::npos);
  cluster_.failing_kinds = {"Trial"};
  out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_NE(out.answer.warnings.at(0).find("503"), std::string::npos);
  cluster_.failing_kinds = {"Job"};
  EXPECT_STREQ(pod(parts["pod"]).answer.result, "warned");
  configure({{"deadlinePolicy", "refuse"}});
  out = pod(parts["pod"]);
  EXPECT_FALSE(out.answer.allowed);
  EXPECT_STREQ(out.answer.result, "refused");
  // Kinds that no Trial makes are none of ours, readable or not.
  cluster_.failing_kinds = {"CronJob"};
  Json foreign = parts["pod"];
  foreign["metadata"]["ownerReferences"][0]["kind"] = "CronJob";
  EXPECT_STREQ(pod(foreign).answer.result, "unchanged");
}

// The labels as they came decide; those that the first pass added must not make the second one inject.
TEST_F(MutationTest, LabelsOfTheTrialMakeNoPodPrimary) {
  Json parts = load("random");
  parts["trial"]["spec"]["primaryPodLabels"] = {{"katib.kubeflow.org/trial", parts["trial"]["metadata"]["name"]}};
  cluster_.put(parts["trial"]);
  const Outcome first = pod(parts["pod"]);
  EXPECT_EQ(first.object["spec"]["containers"].size(), parts["pod"]["spec"]["containers"].size());
  EXPECT_NE(first.answer.patch, "");
  EXPECT_EQ(pod(first.object).answer.patch, "");
}

TEST_F(MutationTest, AJobOfAnotherNameIsKnownByItsReference) {
  const Json parts = load("bare_pod");
  Json object = parts["pod"];
  object["metadata"]["name"] = "quite-different";
  const Outcome out = pod(object);
  EXPECT_STREQ(out.answer.result, "injected");
  EXPECT_EQ(out.object["metadata"]["labels"]["katib.kubeflow.org/trial"], parts["trial"]["metadata"]["name"]);
}

TEST_F(MutationTest, AnythingButTheCreationOfAPodIsAllowed) {
  const Json parts = load("random");
  for (const char* operation : {"UPDATE", "DELETE", "CONNECT", ""}) {
    Review review = review_of(parts["pod"], "pods");
    review.operation = operation;
    EXPECT_STREQ(mutation_.pod(review, 0).result, "unchanged");
  }
  Review review = review_of(parts["pod"], "pods");
  review.sub_resource = "status";
  EXPECT_EQ(mutation_.pod(review, 0).patch, "");
  review = review_of(parts["pod"], "pods");
  review.resource_group = "metrics.k8s.io";
  EXPECT_EQ(mutation_.pod(review, 0).patch, "");
  review = review_of(Json(), "pods");
  EXPECT_EQ(mutation_.pod(review, 0).patch, "");
  EXPECT_EQ(mutation_.job(review, 0).patch, "");
}

TEST_F(MutationTest, InjectedByAnotherHook) {
  Json object = load("random")["pod"];
  object["metadata"]["annotations"][kMark] = "job";
  Outcome out = pod(object);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 1u);
  EXPECT_EQ(out.object["metadata"]["labels"]["katib.kubeflow.org/trial"], "random-x1")
      << "steps 1 and 2, where they are missing";
  object["metadata"].erase("annotations");
  object["spec"]["containers"].push_back({{"name", kLogger}, {"image", "stock"}});
  out = pod(object);
  EXPECT_EQ(out.object["spec"]["containers"].size(), 2u) << "a collector of somebody else";
}

TEST_F(MutationTest, OwnersAreLookedAtWithinBounds) {
  Json object = load("random")["pod"];
  const Json real = object["metadata"]["ownerReferences"][0];
  Json owners = Json::array();
  for (int i = 0; i < 400; i++)
    owners.push_back({{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"name", "none-" + std::to_string(i)},
                      {"uid", "u" + std::to_string(i)}});
  object["metadata"]["ownerReferences"] = owners;
  pod(object);  // settings
  const int before = cluster_.lookups;
  const Outcome out = pod(object);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_LE(cluster_.lookups - before, 20) << "one review made 400";
  ASSERT_EQ(out.answer.warnings.size(), 1u) << "and it is said";
  object["metadata"]["ownerReferences"] = Json::array({owners[0], owners[1], real});
  EXPECT_STREQ(pod(object).answer.result, "injected");
  // A tree of owners: as many branches on each step.
  for (int i = 0; i < 40; i++) {
    Json job = {
        {"apiVersion", "batch/v1"},
        {"kind", "Job"},
        {"metadata", {{"name", "none-" + std::to_string(i)}, {"namespace", "team"}, {"uid", "u" + std::to_string(i)}}}};
    for (int k = 0; k < 10; k++)
      job["metadata"]["ownerReferences"].push_back(owners[static_cast<size_t>(i * 10 + k) % 400]);
    cluster_.put(job);
  }
  object["metadata"]["ownerReferences"] = owners;
  const int again = cluster_.lookups;
  EXPECT_TRUE(pod(object).answer.allowed);
  EXPECT_LE(cluster_.lookups - again, 20);
}

TEST_F(MutationTest, NamesThatNoLabelCanHold) {
  Json parts = load("random");
  const std::string name(64, 'a');
  parts["trial"]["metadata"]["name"] = name;
  cluster_.put(parts["trial"]);
  parts["pod"]["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", kTrialVersion}, {"kind", "Trial"}, {"name", name}, {"uid", "u"}}});
  const Outcome out = pod(parts["pod"]);
  EXPECT_TRUE(out.answer.allowed);
  EXPECT_EQ(out.answer.patch, "") << "the API server would refuse it";
  EXPECT_EQ(out.answer.warnings.size(), 1u);
}

}  // namespace
}  // namespace tacho
