#include "kube/webhook/pod_edit.h"

#include <nlohmann/json.hpp>

#include "kube/webhook/pod_obstacles.h"
#include "kube/webhook/pod_parts.h"
#include "kube/webhook/pod_security.h"
#include "kube/webhook/wrap.h"
#include "os/sibling.h"

namespace tacho {
namespace {

// In the pod's shared memory: writable also where the root is read-only, and gone with the pod.
constexpr const char* kReadyFile = "/dev/shm/tacho-collector-ready";
constexpr int64_t kNativeGraceSeconds = 120;  // the last flush has to fit in
constexpr int kNativeSince = 29;
constexpr const char* kIstio = "sidecar.istio.io/inject";

Json mount_json(const std::string& volume, const std::string& path, const std::string& sub_path = "") {
  Json out = Json::object();
  out["name"] = volume;
  out["mountPath"] = path;
  if (!sub_path.empty()) out["subPath"] = sub_path;
  return out;
}

Json field_env(const std::string& name, const std::string& field) {
  Json out = Json::object();
  out["name"] = name;
  out["valueFrom"]["fieldRef"]["fieldPath"] = field;
  return out;
}

std::vector<std::string> words_at(const Json& container, const char* key) {
  std::vector<std::string> out;
  const Json* list = find(container, {key});
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& word : *list) {
    if (word.is_string()) out.push_back(word.get<std::string>());
  }
  return out;
}

}  // namespace

int64_t PodEdit::container_index(const std::string& name) const {
  const Json* containers = patch_.at(root_ + "/spec/containers");
  if (containers == nullptr || !containers->is_array() || name.empty()) return -1;
  for (size_t i = 0; i < containers->size(); i++) {
    if (text_at((*containers)[i], {"name"}) == name) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string PodEdit::primary(const TrialFacts& trial) const {
  return root_ + "/spec/containers/" + std::to_string(container_index(trial.primary_container));
}

bool PodEdit::is_injected(const TrialFacts& trial) const {
  if (has_annotation(kMark)) return true;
  const std::string name = sidecar_name(trial);
  if (name == trial.primary_container)
    return false;  // a Custom one with the trainer's name: there is no second container
  return has_container(name) || entry_named(patch_.at(root_ + "/spec/initContainers"), name) != nullptr;
}

bool PodEdit::has_annotation(const char* key) const {
  return patch_.at(root_ + "/metadata/annotations/" + pointer_part(key)) != nullptr;
}

bool PodEdit::has_labels(const Pairs& labels) const {
  for (const auto& [key, value] : labels) {
    const Json* found = patch_.at(root_ + "/metadata/labels/" + pointer_part(key));
    if (found == nullptr || !found->is_string() || found->get_ref<const std::string&>() != value) return false;
  }
  return true;
}

void PodEdit::add_identity(const TrialFacts& trial) {
  const std::string labels = root_ + "/metadata/labels";
  patch_.ensure_object(labels);
  for (const auto& [key, value] : trial.labels) {
    if (key != kTrialLabel) patch_.set(labels + "/" + pointer_part(key), value);
  }
  patch_.set(labels + "/" + pointer_part(kTrialLabel), trial.name);
  const std::string env = primary(trial) + "/env";
  if (entry_named(patch_.at(env), "KATIB_TRIAL_NAME") == nullptr)
    patch_.append(env, field_env("KATIB_TRIAL_NAME", std::string("metadata.labels['") + kTrialLabel + "']"));
}

PodEdit::Mount PodEdit::metrics_mount(const TrialFacts& trial, const std::string& folder) const {
  if (folder.empty()) return {};
  // The API server refuses two mounts on one path: a volume that is there already is shared.
  if (const Json* there = mount_at(*patch_.at(primary(trial)), folder))
    return {text_at(*there, {"name"}), text_at(*there, {"subPath"}), false};
  return {kMetricsVolume, "", true};
}

void PodEdit::add_volume(const std::string& name, Json volume) {
  if (entry_named(patch_.at(root_ + "/spec/volumes"), name) == nullptr)
    patch_.append(root_ + "/spec/volumes", std::move(volume));
}

void PodEdit::add_mount(const std::string& container, Json mount) {
  if (mount_at(*patch_.at(container), without_slash(text_at(mount, {"mountPath"}))) == nullptr)
    patch_.append(container + "/volumeMounts", std::move(mount));
}

// A pod without a command runs what the image says; without arguments too only if it has no command of its own.
std::optional<std::vector<std::string>> PodEdit::words_of(const PodPlan& plan, ImageCommands& images) const {
  const Json& container = *patch_.at(primary(*plan.trial));
  std::vector<std::string> words = words_at(container, "command"), args = words_at(container, "args");
  if (words.empty()) {
    const auto image =
        images.find(text_at(container, {"image"}), text_at(container, {"imagePullPolicy"}), plan.deadline_ns);
    if (!image) return std::nullopt;
    // The image's words are not Kubernetes' to expand.
    for (const std::string& word : image->entry_point) words.push_back(for_kubernetes(word));
    if (args.empty()) {
      for (const std::string& word : image->arguments) args.push_back(for_kubernetes(word));
    }
  }
  words.insert(words.end(), args.begin(), args.end());
  if (words.empty()) return std::nullopt;
  return words;
}

int PodEdit::resolve_port(const TrialFacts& trial, std::vector<std::string>& warnings) const {
  if (trial.http_port_name.empty()) return trial.http_port;
  const Json& containers = *patch_.at(root_ + "/spec/containers");
  for (const bool primary_only : {true, false}) {
    for (const Json& container : containers) {
      if (primary_only && text_at(container, {"name"}) != trial.primary_container) continue;
      const Json* ports = find(container, {"ports"});
      if (ports == nullptr || !ports->is_array()) continue;
      for (const Json& port : *ports) {
        const Json* number = find(port, {"containerPort"});
        if (text_at(port, {"name"}) == trial.http_port_name && number != nullptr && number->is_number_integer())
          return number->get<int>();
      }
    }
  }
  warnings.push_back("tacho: no container port is named " + trial.http_port_name + "; metrics are read from port 8080");
  return 8080;
}

// What the whole pod has been given holds for our containers too: the API server refuses a sum of requests, or a limit
// of one container, above it.
Json PodEdit::resources(const PodPlan& plan) const {
  Json out = resources_json(*plan.collector);
  for (const char* bound : {"requests", "limits"}) {
    const Json* of_pod = patch_.at(root_ + "/spec/resources/" + bound);
    if (of_pod == nullptr || !of_pod->is_object()) continue;
    for (const auto& [name, amount] : of_pod->items()) {
      for (auto& [key, amounts] : out.items()) amounts.erase(name);
    }
  }
  return out;
}

Json PodEdit::make_sidecar(const PodPlan& plan, const Parts& parts) const {
  const std::string& folder = parts.folder;
  const Mount& mount = parts.mount;
  const bool native = parts.native, launcher = parts.launcher;
  const TrialFacts& trial = *plan.trial;
  Json out = Json::object();
  if (!trial.kind->is_ours()) {
    out = *trial.custom;
    if (!folder.empty() && mount_at(out, folder) == nullptr) {
      Json& mounts = out["volumeMounts"];
      if (!mounts.is_array()) mounts = Json::array();
      mounts.push_back(mount_json(mount.volume, folder, mount.sub_path));
    }
    return out;
  }
  out["name"] = sidecar_name(trial);
  out["image"] = plan.collector->image;
  out["args"] = sidecar_arguments(trial, plan.sidecar);
  if (!plan.index_variable.empty()) out["env"].push_back(field_env(plan.index_variable, plan.index_field));
  // Another collector's image knows neither the variables nor the probe.
  const bool probed = native && plan.config->profile != "none";
  const auto variable = [&](const char* name, const char* value) {
    Json word = Json::object();
    word["name"] = name;
    word["value"] = value;
    out["env"].push_back(std::move(word));
  };
  if (probed) variable("TACHO_SIDECAR", "native");
  if (probed && !launcher) variable("TACHO_READY_FILE", kReadyFile);
  out["resources"] = resources(plan);
  if (!folder.empty()) out["volumeMounts"].push_back(mount_json(mount.volume, folder, mount.sub_path));
  if (native && launcher) out["volumeMounts"].push_back(mount_json(kLauncherVolume, kLauncherFolder));
  if (native) out["restartPolicy"] = "Always";
  if (probed) {
    Json& probe = out["startupProbe"];
    probe["exec"]["command"] = {kKatibName, "collect", "--ready"};
    probe["periodSeconds"] = 1;
    probe["failureThreshold"] = 60;
  }
  out["imagePullPolicy"] = plan.collector->pull_policy;
  if (!plan.context.is_null()) out["securityContext"] = plan.context;
  return out;
}

Json PodEdit::make_installer(const PodPlan& plan) const {
  Json out = Json::object();
  out["name"] = kInstaller;
  out["image"] = plan.config->launcher_image.empty() ? plan.collector->image : plan.config->launcher_image;
  out["command"] = {kKatibName, "exec", "--install", kLauncherFolder};
  out["resources"] = resources(plan);
  out["volumeMounts"].push_back(mount_json(kLauncherVolume, kLauncherFolder));
  out["imagePullPolicy"] = plan.collector->pull_policy;
  if (!plan.context.is_null()) out["securityContext"] = plan.context;
  return out;
}

std::string PodEdit::restart_policy(const std::string& root) const {
  const Json* spec = patch_.at(root + "/spec");
  const std::string policy = spec == nullptr ? "" : text_at(*spec, {"restartPolicy"});
  return policy == "Never" || policy == "OnFailure" ? policy : "Always";
}

// Nobody stands before a trainer whose command is not known: what it prints is read from the API server instead.
Json PodEdit::make_follower(const PodPlan& plan, const std::string& folder, const Mount& mount) const {
  Json out = Json::object();
  out["name"] = kFollower;
  out["image"] = plan.collector->image;
  out["command"] = {kKubeName,     "follow-log",
                    "--namespace", "$(POD_NAMESPACE)",
                    "--pod",       "$(POD_NAME)",
                    "--container", plan.trial->primary_container,
                    "--file",      for_kubernetes(plan.trial->path),
                    "--restart",   restart_policy(root_)};
  out["env"] = Json::array({field_env("POD_NAME", "metadata.name"), field_env("POD_NAMESPACE", "metadata.namespace")});
  out["resources"] = resources(plan);
  out["volumeMounts"].push_back(mount_json(mount.volume, folder, mount.sub_path));
  out["imagePullPolicy"] = plan.collector->pull_policy;
  if (!plan.context.is_null()) out["securityContext"] = plan.context;
  return out;
}

void PodEdit::add_suggestion_volume(const PodPlan& plan) {
  if (!plan.suggestion || plan.suggestion->trial_dir.empty()) return;
  const TrialFacts& trial = *plan.trial;
  Json volume = Json::object();
  volume["name"] = kSuggestionVolume;
  volume["persistentVolumeClaim"]["claimName"] = trial.experiment + "-" + plan.suggestion->algorithm;
  add_volume(kSuggestionVolume, std::move(volume));
  add_mount(primary(trial),
            mount_json(kSuggestionVolume, plan.suggestion->trial_dir, trial.experiment + "/" + trial.name));
}

void PodEdit::wrap(const PodPlan& plan, const std::vector<std::string>& words, const std::string& folder) {
  const TrialFacts& trial = *plan.trial;
  const WrapOptions options{folder, trial.kind->is_printed ? trial.path : "", !plan.sidecar.early_stopping.empty()};
  const std::string container = primary(trial);
  const bool launcher = plan.config->wrap == WrapForm::launcher;
  const Wrapped wrapped = launcher ? wrap_with_launcher(words, options) : wrap_with_shell(words, options);
  patch_.set(container + "/command", wrapped.command);
  if (!wrapped.args.empty() || patch_.at(container + "/args") != nullptr) patch_.set(container + "/args", wrapped.args);
  if (!launcher) return;
  Json volume = Json::object();
  volume["name"] = kLauncherVolume;
  volume["emptyDir"] = Json::object();
  add_volume(kLauncherVolume, std::move(volume));
  Json mount = mount_json(kLauncherVolume, kLauncherFolder);
  mount["readOnly"] = true;
  add_mount(container, std::move(mount));
}

void PodEdit::annotate(const std::string& key, const std::string& value) {
  if (!has_room_for_annotations(*patch_.at(root_), key.size() + value.size())) return;
  patch_.ensure_object(root_ + "/metadata/annotations");
  patch_.set(root_ + "/metadata/annotations/" + pointer_part(key), value);
}

// What no pod can help: the Trial's own path and container.
std::string PodEdit::path_obstacle(const TrialFacts& trial, const std::string& folder) {
  if (!trial.kind->is_ours() && !trial.custom) return "the Trial's Custom collector has no container";
  if (folder.find(':') != std::string::npos) return "the collector's path holds a colon";
  if (!trial.path.empty() && trial.path[0] != '/') return "the collector's path is not absolute";
  if (folder == "/") return "the collector's path lies in the root folder, where no volume can be mounted";
  return "";
}

bool PodEdit::is_native(const PodPlan& plan, std::vector<std::string>& warnings) {
  if (!plan.trial->kind->is_ours()) return false;
  if (plan.config->sidecar_mode == SidecarMode::automatic) return plan.server_minor >= kNativeSince;
  if (plan.config->sidecar_mode != SidecarMode::native) return false;
  if (plan.server_minor == 0 || plan.server_minor >= kNativeSince) return true;
  warnings.push_back("tacho: this Kubernetes has no native sidecars; the collector is an ordinary container");
  return false;
}

Status PodEdit::inject(PodPlan plan, ImageCommands& images, std::vector<std::string>& warnings) {
  const TrialFacts& trial = *plan.trial;
  const bool ours = trial.kind->is_ours(), printed = trial.kind->is_printed;
  const auto refuse = [](const std::string& what) { return Error{Code::invalid, what, "", ""}; };
  const std::string folder = shared_folder(trial);
  if (const std::string what = path_obstacle(trial, folder); !what.empty()) return refuse(what);

  std::optional<std::vector<std::string>> words;
  if (ours) {
    words = words_of(plan, images);
    plan.sidecar.wrapped = words.has_value();
    if (!words && printed && plan.config->strict)
      return refuse("the command of the image is not known; set command in the trial template");
    if (!words)
      warnings.push_back(
          printed
              ? "tacho: the image's command is not known; its log is read by the API, which needs the right to pods/log"
              : "tacho: the image's command is not known, so success and failure look alike; set command in the "
                "template");
    if (trial.kind->source == CollectorKind::Source::endpoint) plan.sidecar.http_port = resolve_port(trial, warnings);
  }
  Parts parts;
  parts.folder = folder;
  parts.native = is_native(plan, warnings);
  parts.launcher = words && plan.config->wrap == WrapForm::launcher;
  parts.follower = ours && !words && printed;
  parts.mount = metrics_mount(trial, folder);
  const size_t annotation_bytes = std::string_view(kMark).size() + std::string_view(plan.mode).size() +
                                  (plan.config->no_istio ? std::string_view(kIstio).size() + 5 : 0);
  if (const std::string what =
          pod_obstacle(*patch_.at(root_), *patch_.at(primary(trial)), trial,
                       {folder, parts.mount.is_new, parts.launcher, parts.follower, annotation_bytes});
      !what.empty())
    return refuse(what);
  if (ours) {
    OurContext context = our_security_context(*patch_.at(root_), *patch_.at(primary(trial)),
                                              plan.inject_security_context, plan.users_assigned);
    plan.context = std::move(context.context);
    if (context.user_unknown)
      warnings.push_back("tacho: runAsNonRoot without runAsUser: the collector runs as user 65532, not as the trainer");
  }
  add_parts(plan, parts, words);
  return ok();
}

// Nothing stands in the way any more.
void PodEdit::add_parts(const PodPlan& plan, const Parts& parts, const std::optional<std::vector<std::string>>& words) {
  const TrialFacts& trial = *plan.trial;
  Json sidecar = make_sidecar(plan, parts);
  if (parts.launcher) patch_.append(root_ + "/spec/initContainers", make_installer(plan));
  patch_.append(root_ + (parts.native ? "/spec/initContainers" : "/spec/containers"), std::move(sidecar));
  if (parts.follower) patch_.append(root_ + "/spec/containers", make_follower(plan, parts.folder, parts.mount));
  add_suggestion_volume(plan);
  patch_.set(root_ + "/spec/shareProcessNamespace", true);
  if (parts.mount.is_new) {
    Json volume = Json::object();
    volume["name"] = kMetricsVolume;
    volume["emptyDir"] = Json::object();
    add_volume(kMetricsVolume, std::move(volume));
    add_mount(primary(trial), mount_json(kMetricsVolume, parts.folder));
  }
  if (words) wrap(plan, *words, parts.folder);
  if (parts.native) {
    const Json* grace = patch_.at(root_ + "/spec/terminationGracePeriodSeconds");
    if (grace == nullptr || !grace->is_number_integer() || grace->get<int64_t>() < kNativeGraceSeconds)
      patch_.set(root_ + "/spec/terminationGracePeriodSeconds", kNativeGraceSeconds);
  }
  annotate(kMark, plan.mode);
  if (plan.config->no_istio) annotate(kIstio, "false");
}

}  // namespace tacho
