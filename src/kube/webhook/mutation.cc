#include "kube/webhook/mutation.h"

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "kube/webhook/job_templates.h"

namespace tacho {
namespace {

constexpr size_t kLabelLimit = 63;

bool is_push(const TrialFacts& trial) { return trial.kind->source == CollectorKind::Source::trainer; }

}  // namespace

struct Mutation::Work {
  const Review& review;
  int64_t deadline_ns;
  std::string ns;
  std::shared_ptr<const WebhookSettings> settings;
  TrialOwner owner;
  std::shared_ptr<const TrialFacts> trial;
  ReviewAnswer answer;
  bool users_assigned = false;
};

// Which pods of the Trial report, as far as it is known when the pod or job is made.
struct Mutation::Choice {
  const char* mode = "pod";
  bool single = false;  // exactly one pod reports: its rows may replace those of an earlier attempt
  std::string index_variable, index_field;
  std::string active_when;
};

Mutation::Mutation(Cluster& cluster, SettingsSource& settings, ImageCommands& images, std::string db_manager)
    : cluster_(cluster),
      settings_(settings),
      images_(images),
      db_manager_(std::move(db_manager)),
      walk_(cluster),
      trials_(16384),
      suggestions_(4096),
      namespaces_(4096) {}

// `may_pass`: nobody could say, and the same request may fare better later.
void Mutation::doubt(Work& work, const std::string& what, bool may_pass) {
  ReviewAnswer answer;
  answer.about = std::move(work.answer.about);
  work.answer = std::move(answer);
  const std::string text = "tacho: no metrics collector was added: " + what;
  if (work.settings && (may_pass ? work.settings->tacho.refuse_late : work.settings->tacho.strict)) {
    work.answer.allowed = false;
    work.answer.message = text;
    work.answer.result = "refused";
    return;
  }
  work.answer.warnings.push_back(text);
  work.answer.result = "warned";
}

std::shared_ptr<const TrialFacts> Mutation::facts_of(const Lookup& found) {
  if (found.state != Lookup::State::found || !found.json) return nullptr;
  return trials_.get(found.json, [](const std::string& text) -> std::shared_ptr<const TrialFacts> {
    const std::optional<Json> parsed = parse_json(text);
    if (!parsed) return nullptr;
    Result<TrialFacts> facts = read_trial(*parsed);
    return facts ? std::make_shared<const TrialFacts>(std::move(*facts)) : nullptr;
  });
}

bool Mutation::find_trial(Work& work) {
  const Review& review = work.review;
  work.ns = review.ns.empty() ? text_at(*review.object, {"metadata", "namespace"}) : review.ns;
  work.settings = settings_.current(work.deadline_ns);
  if (const std::vector<OwnerReference> owners = owners_of(*review.object); !owners.empty())
    work.answer.about = {owners[0].api_version, owners[0].kind, work.ns, owners[0].name, owners[0].uid};
  work.owner = walk_.find(*review.object, work.ns, work.settings->katib.trial_resources, work.deadline_ns);
  if (work.owner.state == TrialOwner::State::not_ours) {
    const std::string why = "it is taken for none of a Trial's: " + work.owner.why;
    if (work.owner.cut_short) work.answer.warnings.push_back("tacho: " + why), work.answer.result = "warned";
    else if (!work.owner.why.empty()) work.answer.notes.push_back(why);
    return false;
  }
  if (work.owner.state == TrialOwner::State::doubt) return doubt(work, work.owner.why, true), false;
  const ObjectKey key{kTrialVersion, "Trial", work.ns, work.owner.trial};
  Lookup found = cluster_.get(key, work.deadline_ns);
  work.trial = facts_of(found);
  // Another Trial of that name, deleted or made meanwhile: the watch may be behind, the reference is not.
  const auto is_other = [&] {
    return work.trial && !work.owner.uid.empty() && !work.trial->uid.empty() && work.trial->uid != work.owner.uid;
  };
  if (is_other()) {
    found = cluster_.get_now(key, work.deadline_ns);
    work.trial = facts_of(found);
  }
  if (found.state == Lookup::State::failed)
    return doubt(work, "Trial " + work.owner.trial + " could not be read: " + found.why, true), false;
  if (found.state == Lookup::State::absent || !found.json || is_other()) {
    work.answer.warnings.push_back("tacho: no metrics collector was added: Trial " + work.owner.trial + " is gone");
    work.answer.result = "warned";
    return false;
  }
  if (!work.trial) return doubt(work, "Trial " + work.owner.trial + " cannot be understood"), false;
  // It becomes a label's value, and the API server would refuse the pod.
  if (work.trial->name.size() > kLabelLimit)
    return doubt(work, "the Trial's name has more than " + std::to_string(kLabelLimit) + " characters"), false;
  work.answer.about = {kTrialVersion, "Trial", work.ns, work.trial->name, work.trial->uid};
  return true;
}

Mutation::Labelled Mutation::is_labelled(Work& work) {
  const Lookup found = cluster_.get({"v1", "Namespace", "", work.ns}, work.deadline_ns);
  if (found.state != Lookup::State::found || !found.json) return Labelled::unknown;
  const auto facts = namespaces_.get(found.json, [](const std::string& text) {
    const Json parsed = parse_json(text).value_or(Json::object());
    return std::make_shared<const NamespaceFacts>(
        NamespaceFacts{text_at(parsed, {"metadata", "labels", kNamespaceLabel}) == "enabled",
                       !text_at(parsed, {"metadata", "annotations", "openshift.io/sa.scc.uid-range"}).empty()});
  });
  work.users_assigned = facts->users_assigned;
  return facts->enabled ? Labelled::yes : Labelled::no;
}

void Mutation::read_suggestion_of(Work& work, PodPlan& plan) {
  const TrialFacts& trial = *work.trial;
  const bool rules = !trial.stop_rules.empty();
  if (trial.experiment.empty()) {
    if (rules)
      work.answer.warnings.push_back("tacho: Trial " + trial.name +
                                     " names no Experiment; its early-stopping rules are not used");
    return;
  }
  const Lookup found = cluster_.get({kTrialVersion, "Suggestion", work.ns, trial.experiment}, work.deadline_ns);
  if (found.state == Lookup::State::found && found.json) {
    const auto facts =
        suggestions_.get(found.json, [](const std::string& text) -> std::shared_ptr<const SuggestionFacts> {
          const std::optional<Json> parsed = parse_json(text);
          return parsed ? std::make_shared<const SuggestionFacts>(read_suggestion(*parsed)) : nullptr;
        });
    if (facts && !facts->algorithm.empty()) {
      plan.suggestion = *facts;
      if (rules) plan.sidecar.early_stopping = trial.experiment + "-" + facts->algorithm + "." + work.ns + ":6788";
      return;
    }
  }
  work.answer.warnings.push_back(
      "tacho: Suggestion " + trial.experiment + " is not there" +
      (rules ? "; the early-stopping rules are not used" : "; a volume of its own is not mounted"));
}

bool Mutation::make_plan(Work& work, const Choice& choice, PodPlan& plan) {
  const TrialFacts& trial = *work.trial;
  if (!trial.unknown_kind.empty())
    return doubt(work, "the collector kind " + trial.unknown_kind + " is not known"), false;
  if (trial.metrics.empty()) return doubt(work, "Trial " + trial.name + " names no objective metric"), false;
  plan.trial = &trial;
  plan.config = &work.settings->tacho;
  plan.inject_security_context = work.settings->katib.inject_security_context;
  plan.users_assigned = work.users_assigned;
  plan.mode = choice.mode;
  plan.deadline_ns = work.deadline_ns;
  plan.server_minor = cluster_.server_minor();
  if (trial.kind->is_ours()) {
    plan.collector = work.settings->collector(*trial.kind);
    if (plan.collector == nullptr)
      return doubt(work, "katib-config has no image for kind " + std::string(trial.kind->name)), false;
    plan.sidecar.wait_all_processes = plan.collector->wait_all_processes;
  }
  plan.sidecar.db_manager = db_manager_;
  plan.sidecar.profile = work.settings->tacho.profile;
  plan.sidecar.replace_attempts = choice.single;
  plan.sidecar.active_when = choice.active_when;
  plan.index_variable = choice.index_variable;
  plan.index_field = choice.index_field;
  read_suggestion_of(work, plan);
  return true;
}

void Mutation::finish(Work& work, JsonPatch& patch) {
  if (!patch.empty()) {
    work.answer.patch = patch.text();
    work.answer.result = "injected";
  } else if (!work.answer.warnings.empty()) {
    work.answer.result = "warned";
  }
}

ReviewAnswer Mutation::pod(const Review& review, int64_t deadline_ns) {
  Work work{review, deadline_ns, {}, {}, {}, {}, {}, false};
  // Others have pods, too: metrics.k8s.io.
  if (review.operation != "CREATE" || review.resource != "pods" || !review.resource_group.empty() ||
      !review.sub_resource.empty() || !review.object->is_object())
    return work.answer;
  if (!find_trial(work) || is_labelled(work) == Labelled::no) return work.answer;
  const TrialFacts& trial = *work.trial;
  JsonPatch patch(*review.object);
  PodEdit edit(patch, "");
  if (!edit.has_container(trial.primary_container)) {
    work.answer.notes.push_back("a pod without the container " + trial.primary_container + " is left as it is");
    return work.answer;
  }
  if (edit.has_labels({{kNamespaceLabel, "disabled"}})) return work.answer;
  // The labels as they came: those of the Trial are added below.
  const bool primary = edit.has_labels(trial.primary_labels) && !edit.has_annotation(kNotPrimary);
  const bool injected = edit.is_injected(trial);
  edit.add_identity(trial);
  // With those it would be taken for primary the next time: a second pass has to find what the first one saw.
  if (!primary && !injected && !is_push(trial) && edit.has_labels(trial.primary_labels))
    edit.annotate(kNotPrimary, "true");
  if (!primary || injected || is_push(trial)) return finish(work, patch), work.answer;

  Choice choice;
  const OwnerFacts& job = *work.owner.job;
  const std::optional<int64_t> pods = primary_pods(job, trial.primary_labels);
  choice.single = pods == 1;
  if (pods && *pods > 1) {
    if (work.settings->tacho.multiple_first && (job.indexed || !job.replicas.empty())) {
      choice.single = true;
      // The job's controller gives its index to the containers that it knows of; ours is not among them.
      choice.index_variable = job.indexed ? "JOB_COMPLETION_INDEX" : "TACHO_REPLICA_INDEX";
      choice.index_field = job.indexed ? "metadata.annotations['batch.kubernetes.io/job-completion-index']"
                                       : "metadata.labels['training.kubeflow.org/replica-index']";
      choice.active_when = choice.index_variable + "=0";
    } else {
      work.answer.warnings.push_back("tacho: " + std::to_string(*pods) + " pods of Trial " + trial.name +
                                     " are primary; each reports its metrics");
    }
  }
  PodPlan plan;
  if (!make_plan(work, choice, plan)) return work.answer;
  if (Status done = edit.inject(std::move(plan), images_, work.answer.warnings); !done)
    return doubt(work, done.error().what), work.answer;
  finish(work, patch);
  return work.answer;
}

ReviewAnswer Mutation::job(const Review& review, int64_t deadline_ns) {
  Work work{review, deadline_ns, {}, {}, {}, {}, {}, false};
  if (review.operation != "CREATE" || !review.sub_resource.empty() || !review.object->is_object()) return work.answer;
  if (!find_trial(work)) return work.answer;
  const TrialFacts& trial = *work.trial;
  const bool pod_level = is_labelled(work) == Labelled::yes;
  if (pod_level && !work.settings->tacho.two_stage) return work.answer;
  std::string kind = text_at(*review.object, {"kind"});
  if (kind.empty()) kind = review.kind;
  const JobTemplates templates = find_templates(*review.object, kind);
  if (templates.by_owner) return work.answer;
  if (!templates.known) return doubt(work, kind + " needs the pod level: label the namespace"), work.answer;
  JsonPatch patch(*review.object);
  const bool opted_out =
      !templates.chosen.empty() && PodEdit(patch, templates.chosen).has_labels({{kNamespaceLabel, "disabled"}});
  const bool wanted = !pod_level && !is_push(trial) && !opted_out;
  if (wanted && (templates.chosen.empty() || !PodEdit(patch, templates.chosen).has_container(trial.primary_container)))
    return doubt(work, "the " + kind + " has no container " + trial.primary_container + " where it belongs"),
           work.answer;
  const bool injected = !templates.chosen.empty() && PodEdit(patch, templates.chosen).is_injected(trial);
  for (const std::string& pointer : templates.all) {
    if (PodEdit edit(patch, pointer); edit.has_container(trial.primary_container)) edit.add_identity(trial);
  }
  if (!wanted || injected) return finish(work, patch), work.answer;

  Choice choice;
  choice.mode = "job";
  choice.single = templates.pods == 1;
  if (templates.pods > 1)
    work.answer.warnings.push_back("tacho: Trial " + trial.name + " has " + std::to_string(templates.pods) +
                                   " pods; each reports its metrics");
  if (templates.active == JobTemplates::Active::completion_index) choice.active_when = "JOB_COMPLETION_INDEX=0";
  if (templates.active == JobTemplates::Active::replica_index) {
    choice.index_variable = "TACHO_REPLICA_INDEX";
    choice.index_field = "metadata.labels['training.kubeflow.org/replica-index']";
    choice.active_when = "TACHO_REPLICA_INDEX=0";
  }
  PodPlan plan;
  if (!make_plan(work, choice, plan)) return work.answer;
  if (Status done = PodEdit(patch, templates.chosen).inject(std::move(plan), images_, work.answer.warnings); !done)
    return doubt(work, done.error().what), work.answer;
  finish(work, patch);
  return work.answer;
}

}  // namespace tacho
