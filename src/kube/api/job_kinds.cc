#include "kube/api/job_kinds.h"

namespace tacho {
namespace {

using Use = JobKind::Use;
using Shape = JobKind::Shape;
constexpr bool kTrialJob = true, kMakesPods = true;
constexpr std::string_view kTraining = "kubeflow.org";

// clang-format off
constexpr JobKind kJobKinds[] = {
    {"Job", "batch", "v1", "jobs", Use::usual, Shape::pods, kTrialJob, kMakesPods, "Complete", "Failed"},
    {"PyTorchJob", kTraining, "v1", "pytorchjobs", Use::usual, Shape::replicas, kTrialJob, kMakesPods, "Succeeded", "Failed",
     "pytorchReplicaSpecs", {"master"}, true},
    {"TFJob", kTraining, "v1", "tfjobs", Use::usual, Shape::replicas, kTrialJob, kMakesPods, "Succeeded", "Failed",
     "tfReplicaSpecs", {"chief", "master"}, true},
    {"MPIJob", kTraining, "v1", "mpijobs", Use::usual, Shape::replicas, kTrialJob, kMakesPods, "Succeeded", "Failed",
     "mpiReplicaSpecs", {"launcher"}, false},
    {"XGBoostJob", kTraining, "v1", "xgboostjobs", Use::usual, Shape::replicas, kTrialJob, kMakesPods, "Succeeded", "Failed",
     "xgbReplicaSpecs", {"master"}, false},
    {"PaddleJob", kTraining, "v1", "paddlejobs", Use::named, Shape::replicas, kTrialJob, kMakesPods, "Succeeded", "Failed",
     "paddleReplicaSpecs", {"master"}, true},
    {"TrainJob", "trainer.kubeflow.org", "v1alpha1", "trainjobs", Use::usual, Shape::none, kTrialJob, !kMakesPods, "Complete", "Failed"},
    {"JobSet", "jobset.x-k8s.io", "v1alpha2", "jobsets", Use::usual, Shape::jobs, !kTrialJob, !kMakesPods},
    {"Workflow", "argoproj.io", "v1alpha1", "workflows", Use::owner, Shape::none, kTrialJob, kMakesPods},
    {"PipelineRun", "tekton.dev", "v1", "pipelineruns", Use::owner, Shape::none, kTrialJob, !kMakesPods},
    {"TaskRun", "tekton.dev", "v1", "taskruns", Use::owner, Shape::none, !kTrialJob, kMakesPods},
};
// clang-format on

}  // namespace

std::span<const JobKind> job_kinds() { return kJobKinds; }

const JobKind* find_job_kind(std::string_view kind) {
  for (const JobKind& known : kJobKinds) {
    if (known.kind == kind) return &known;
  }
  return nullptr;
}

}  // namespace tacho
