// The steps of the injection on one pod or pod template, as edits of its JSON. The hooks decide which pod, and with
// what settings. Pure but for the look-up of an image's command; thread-safe.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/json_patch.h"
#include "kube/api/katib_config.h"
#include "kube/webhook/image_commands.h"
#include "kube/webhook/sidecar.h"
#include "kube/webhook/trial_facts.h"

namespace tacho {

inline constexpr const char* kMark = "tacho/collector-injected";
// For a pod that is not primary but has the primary labels once the Trial's are added.
inline constexpr const char* kNotPrimary = "tacho/not-primary";

struct PodPlan {
  const TrialFacts* trial = nullptr;
  const CollectorConfig* collector = nullptr;  // nullptr for Custom
  bool inject_security_context = false;
  bool users_assigned = false;  // the namespace gives each container its user
  const TachoConfig* config = nullptr;
  std::optional<SuggestionFacts> suggestion;
  SidecarOptions sidecar;
  std::string index_variable, index_field;  // an environment variable of the sidecar by fieldRef; may be empty
  const char* mode = "pod";                 // for the mark
  int server_minor = 0;
  int64_t deadline_ns = 0;
  Json context;  // of our containers; made by PodEdit
};

class PodEdit {
 public:
  // `root` is the pointer of the pod ("") or template ("/spec/template") within the patch's tree.
  PodEdit(JsonPatch& patch, std::string root) : patch_(patch), root_(std::move(root)) {}

  bool has_container(const std::string& name) const { return container_index(name) >= 0; }
  // Whether the mark is there, or a collector of that name that somebody else put there.
  bool is_injected(const TrialFacts& trial) const;
  bool has_labels(const Pairs& labels) const;  // all of them, with these values
  bool has_annotation(const char* key) const;
  void annotate(const std::string& key, const std::string& value);  // where there is room

  // Steps 1 and 2: labels of the Trial, and the environment variable of the primary container.
  void add_identity(const TrialFacts& trial);
  // Steps 5 to 9. An Error when the pod cannot carry a collector: nothing was changed then.
  Status inject(PodPlan plan, ImageCommands& images, std::vector<std::string>& warnings);

 private:
  struct Mount {
    std::string volume, sub_path;
    bool is_new = false;
  };
  // What the pod gets.
  struct Parts {
    std::string folder;  // shared with the trainer
    Mount mount;         // of that folder
    bool native = false, launcher = false, follower = false;
  };
  int64_t container_index(const std::string& name) const;
  std::string primary(const TrialFacts& trial) const;  // its pointer
  Mount metrics_mount(const TrialFacts& trial, const std::string& folder) const;
  void add_volume(const std::string& name, Json volume);
  void add_mount(const std::string& container, Json mount);
  std::optional<std::vector<std::string>> words_of(const PodPlan& plan, ImageCommands& images) const;
  int resolve_port(const TrialFacts& trial, std::vector<std::string>& warnings) const;
  static std::string path_obstacle(const TrialFacts& trial, const std::string& folder);
  static bool is_native(const PodPlan& plan, std::vector<std::string>& warnings);
  void add_parts(const PodPlan& plan, const Parts& parts, const std::optional<std::vector<std::string>>& words);
  Json make_sidecar(const PodPlan& plan, const Parts& parts) const;
  Json make_installer(const PodPlan& plan) const;
  Json make_follower(const PodPlan& plan, const std::string& folder, const Mount& mount) const;
  Json resources(const PodPlan& plan) const;
  std::string restart_policy(const std::string& root) const;
  void add_suggestion_volume(const PodPlan& plan);
  void wrap(const PodPlan& plan, const std::vector<std::string>& words, const std::string& folder);

  JsonPatch& patch_;
  const std::string root_;
};

}  // namespace tacho
