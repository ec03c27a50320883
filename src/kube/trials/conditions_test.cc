#include "kube/trials/conditions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tacho {
namespace {

Json a_trial() {
  return Json::parse(R"({"spec":{"objective":{"objectiveMetricName":"acc","additionalMetricNames":["loss"],
    "metricStrategies":[{"name":"loss","value":"min"},{"name":"acc","value":"max"}]},
    "successCondition":"status.conditions.#(type==\"Complete\")#|#(status==\"True\")#",
    "failureCondition":"status.conditions.#(type==\"Failed\")#|#(status==\"True\")#"}})");
}
std::string types(const Json& trial) {
  std::string text;
  for (const Json& entry : trial["status"]["conditions"])
    text += text_at(entry, {"type"}) + "=" + text_at(entry, {"status"}) + " ";
  return text;
}
Json job_with(const char* type, const char* status) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", "j"}}},
          {"status",
           {{"conditions", Json::array({{{"type", type}, {"status", status}, {"reason", "R"}, {"message", "M"}}})}}}};
}

TEST(Conditions, JobStateFailureFirst) {
  const Json trial = a_trial();
  EXPECT_EQ(job_status(trial, job_with("Complete", "True")).state, JobState::succeeded);
  EXPECT_EQ(job_status(trial, job_with("Complete", "False")).state, JobState::running);
  EXPECT_EQ(job_status(trial, job_with("Failed", "True")).reason, "R");
  Json both = job_with("Complete", "True");
  both["status"]["conditions"].push_back({{"type", "Failed"}, {"status", "True"}});
  EXPECT_EQ(job_status(trial, both).state, JobState::failed);
  EXPECT_EQ(job_status(trial, Json::object()).state, JobState::absent) << "no name yet";
  Json bare = trial;
  bare["spec"].erase("successCondition");
  bare["spec"].erase("failureCondition");
  EXPECT_EQ(job_status(bare, job_with("Complete", "True")).state, JobState::succeeded)
      << "Katib's default for the kind";
  Json torch = job_with("Succeeded", "True");
  torch["apiVersion"] = "kubeflow.org/v1";
  torch["kind"] = "PyTorchJob";
  EXPECT_EQ(job_status(bare, torch).state, JobState::succeeded);
}

TEST(Conditions, UniqueUntouchedAndMovedToTheEnd) {
  Json trial = a_trial();
  EXPECT_TRUE(mark_created(trial, "t1"));
  EXPECT_FALSE(mark_created(trial, "t2")) << "same status and reason: untouched";
  EXPECT_EQ(trial["status"]["startTime"], "t1");
  EXPECT_TRUE(set_condition(trial, "Running", true, "A", "m", "t3"));
  EXPECT_TRUE(set_condition(trial, "Other", true, "B", "m", "t4"));
  EXPECT_TRUE(set_condition(trial, "Running", true, "C", "m2", "t5")) << "another reason";
  EXPECT_EQ(types(trial), "Created=True Other=True Running=True ");
  const Json last = trial["status"]["conditions"].back();
  EXPECT_EQ(text_at(last, {"lastTransitionTime"}), "t3") << "same status keeps the transition";
  EXPECT_EQ(text_at(last, {"lastUpdateTime"}), "t5");
  EXPECT_TRUE(set_condition(trial, "Running", false, "C", "m2", "t6"));
  EXPECT_EQ(text_at(trial["status"]["conditions"].back(), {"lastTransitionTime"}), "t6");
}

TEST(Conditions, EndsOfATrial) {
  Json trial = a_trial();
  mark_created(trial, "t1");
  mark_running(trial, "t2");
  Json good = trial;
  EXPECT_TRUE(set_observation(good, {{"acc", "1", "2", "2"}}));
  EXPECT_FALSE(set_observation(good, {{"acc", "1", "2", "2"}}));
  EXPECT_TRUE(mark_ended(good, {JobState::succeeded, "R", ""}, "", "t3"));
  EXPECT_EQ(types(good), "Created=True Running=False Succeeded=True ");
  EXPECT_EQ(text_at(good["status"]["conditions"].back(), {"reason"}), "TrialSucceeded. Job reason: R");
  EXPECT_EQ(text_at(good["status"]["conditions"].back(), {"message"}), "Trial has succeeded");
  EXPECT_EQ(good["status"]["completionTime"], "t3");
  EXPECT_FALSE(mark_ended(good, {JobState::succeeded, "R", ""}, "", "t4"));
  EXPECT_EQ(good["status"]["completionTime"], "t3");
  EXPECT_EQ(state_of(good), "Succeeded");

  Json none = trial;
  set_observation(none, {{"acc", "unavailable", "unavailable", "unavailable"}});
  EXPECT_TRUE(mark_ended(none, {JobState::succeeded, "", ""}, "", "t3"));
  EXPECT_EQ(state_of(none), "MetricsUnavailable");
  Json empty = trial;
  set_observation(empty, {{"acc", "1", "1", ""}});
  EXPECT_FALSE(objective_available(empty)) << "an empty latest would stall the Experiment";

  Json bad = trial;
  EXPECT_TRUE(mark_ended(bad, {JobState::failed, "", "M"}, "", "t3"));
  EXPECT_EQ(text_at(bad["status"]["conditions"].back(), {"message"}), "Trial has failed. Job message: M");

  Json early = trial;
  set_condition(early, "EarlyStopped", true, "TrialEarlyStopped", "Trial is early stopped", "t3");
  EXPECT_TRUE(mark_ended(early, {JobState::failed, "", ""}, "", "t4"));
  EXPECT_EQ(types(early), "Created=True Running=False EarlyStopped=True ");
  EXPECT_EQ(state_of(early), "EarlyStopped");
  EXPECT_TRUE(is_complete(early));
  EXPECT_FALSE(is_complete(trial));
}

TEST(Conditions, OddObjectsAreNoCrash) {
  Json trial = Json::parse(R"({"status":{"conditions":"none","observation":[1]},"spec":5})");
  EXPECT_FALSE(is_complete(trial));
  EXPECT_EQ(state_of(trial), "");
  EXPECT_TRUE(observation_of(trial).empty());
  EXPECT_TRUE(metric_names(trial).empty());
  EXPECT_TRUE(mark_created(trial, "t"));
  EXPECT_TRUE(set_observation(trial, {{"m", "1", "1", "1"}}));
  EXPECT_EQ(types(trial), "Created=True ");
}

TEST(Conditions, NamesInTheOrderOfTheStrategies) {
  Json trial = a_trial();
  EXPECT_EQ(metric_names(trial), (std::vector<std::string>{"loss", "acc"}));
  trial["spec"]["objective"].erase("metricStrategies");
  EXPECT_EQ(metric_names(trial), (std::vector<std::string>{"acc", "loss"}));
}

}  // namespace
}  // namespace tacho
