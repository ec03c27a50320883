#include "kube/trials/trial_writer.h"

#include <nlohmann/json.hpp>
#include <random>

#include "base/log.h"
#include "base/time_text.h"
#include "kube/api/kube_event.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int kAttempts = 5;

int64_t jitter_ms(int attempt) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<int64_t>(1, int64_t{5} << attempt)(random);
}

std::string trial_path(const Json& trial, std::string_view subresource = {}) {
  return api_path(kTrialApi, "trials", text_at(trial, {"metadata", "namespace"}), text_at(trial, {"metadata", "name"}),
                  subresource);
}

Json owner_reference(const Json& trial) {
  return {{"apiVersion", kTrialApi},
          {"kind", "Trial"},
          {"name", text_at(trial, {"metadata", "name"})},
          {"uid", text_at(trial, {"metadata", "uid"})},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

}  // namespace

TrialWriter::TrialWriter(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd,
                         std::function<bool()> may_write, TrialsMetrics& metrics)
    : client_(std::move(server), stop_fd),
      discovery_(std::move(discovery)),
      may_write_(std::move(may_write)),
      metrics_(metrics) {}

WriteEnd TrialWriter::refused(const ApiAnswer& answer) {
  why_ = answer.text();
  retry_after_ms_ = answer.retry_after_ms;
  if (answer.conflict()) {
    metrics_.conflict();
    return WriteEnd::conflict;
  }
  return answer.not_found() ? WriteEnd::absent : WriteEnd::failed;
}

// When it is another object, what became of the request is not known.
WriteEnd TrialWriter::take(const ApiAnswer& answer, const std::string& kind, const std::string& name, Json& object) {
  if (!answer.ok()) return refused(answer);
  std::optional<Json> found = read_object(answer.body, kind, name);
  if (!found) {
    why_ = kAnotherObject;
    return WriteEnd::failed;
  }
  object = std::move(*found);
  return WriteEnd::done;
}

WriteEnd TrialWriter::write_status(Json& trial, const std::function<bool(Json&)>& change) {
  for (int attempt = 0;; ++attempt) {
    Json changed = trial;
    if (!change(changed)) return WriteEnd::done;
    changed["status"]["lastReconcileTime"] = format_seconds(system_clock().realtime_ns());
    if (!may_write_()) return WriteEnd::not_leader;
    const ApiAnswer answer = client_.put(trial_path(trial, "status"), dump_json(changed));
    if (const WriteEnd end = take(answer, "Trial", text_at(trial, {"metadata", "name"}), trial);
        end != WriteEnd::conflict || attempt + 1 >= kAttempts)
      return end;
    if (!client_.sleep_ms(jitter_ms(attempt))) return WriteEnd::failed;
    if (const WriteEnd end = read_again(trial); end != WriteEnd::done) return end;
  }
}

WriteEnd TrialWriter::read_again(Json& trial) {
  Json now;
  const ApiAnswer answer = client_.get(trial_path(trial));
  if (const WriteEnd end = take(answer, "Trial", text_at(trial, {"metadata", "name"}), now); end != WriteEnd::done)
    return end;
  if (text_at(now, {"metadata", "uid"}) != text_at(trial, {"metadata", "uid"})) return WriteEnd::absent;
  trial = std::move(now);
  return WriteEnd::done;
}

WriteEnd TrialWriter::set_finalizer(Json& trial, bool present) {
  Json finalizers = Json::array();
  if (const Json* old = find(trial, {"metadata", "finalizers"}); old != nullptr && old->is_array()) {
    for (const Json& entry : *old) {
      if (entry != kFinalizer) finalizers.push_back(entry);
    }
  }
  if (present) finalizers.push_back(kFinalizer);
  if (!may_write_()) return WriteEnd::not_leader;
  const Json patch = {
      {"metadata",
       {{"resourceVersion", text_at(trial, {"metadata", "resourceVersion"})}, {"finalizers", std::move(finalizers)}}}};
  const ApiAnswer answer = client_.merge_patch(trial_path(trial), dump_json(patch));
  return take(answer, "Trial", text_at(trial, {"metadata", "name"}), trial);
}

Result<std::string> TrialWriter::job_path(const KindName& kind, const std::string& ns, const std::string& name) {
  const Result<ApiResource> resource = discovery_->find(client_, kind.api_version, kind.kind);
  if (!resource) return resource.error();
  return api_path(kind.api_version, resource->name, ns, name);
}

WriteEnd TrialWriter::know_kind(const KindName& kind) {
  const Result<ApiResource> resource = discovery_->find(client_, kind.api_version, kind.kind);
  if (resource) return WriteEnd::done;
  why_ = resource.error().message();
  return resource.error().code == Code::not_available ? WriteEnd::absent : WriteEnd::failed;
}

WriteEnd TrialWriter::read_job(const KindName& kind, const std::string& ns, const std::string& name, Json& job) {
  const Result<std::string> path = job_path(kind, ns, name);
  if (!path) {
    why_ = path.error().message();
    return WriteEnd::failed;
  }
  return take(client_.get(*path), kind.kind, name, job);
}

WriteEnd TrialWriter::create_job(const Json& trial, const KindName& kind, Json& job) {
  const std::string ns = text_at(trial, {"metadata", "namespace"}), name = text_at(trial, {"metadata", "name"});
  const Result<std::string> path = job_path(kind, ns, "");
  if (!path) {
    why_ = path.error().message();
    return WriteEnd::failed;
  }
  Json wanted = *find(trial, {"spec", "runSpec"});
  Json& metadata = wanted["metadata"];
  if (!metadata.is_object()) metadata = Json::object();
  metadata["name"] = name;
  metadata["namespace"] = ns;
  metadata["ownerReferences"] = Json::array({owner_reference(trial)});
  if (!may_write_()) return WriteEnd::not_leader;
  const ApiAnswer answer = client_.create(*path, dump_json(wanted));
  if (answer.conflict()) return read_job(kind, ns, name, job);  // the cache was behind
  if (const WriteEnd end = take(answer, kind.kind, name, job); end != WriteEnd::done) return end;
  event(trial, false, "JobCreated", "Job " + name + " has been created");
  return WriteEnd::done;
}

WriteEnd TrialWriter::delete_job(const Json& job) {
  const KindName kind{text_at(job, {"apiVersion"}), text_at(job, {"kind"})};
  const Result<std::string> path =
      job_path(kind, text_at(job, {"metadata", "namespace"}), text_at(job, {"metadata", "name"}));
  if (!path) {
    why_ = path.error().message();
    return WriteEnd::failed;
  }
  if (!may_write_()) return WriteEnd::not_leader;
  const Json options = {{"apiVersion", "v1"},
                        {"kind", "DeleteOptions"},
                        {"propagationPolicy", "Foreground"},
                        {"preconditions", {{"uid", text_at(job, {"metadata", "uid"})}}}};
  const ApiAnswer answer = client_.remove(*path, dump_json(options));
  // A conflict is another job of that name: none of ours.
  return answer.ok() || answer.not_found() || answer.conflict() ? WriteEnd::done : refused(answer);
}

void TrialWriter::event(const Json& trial, bool warning, std::string_view reason, std::string_view message) {
  const EventSubject about{kTrialApi, "Trial", text_at(trial, {"metadata", "namespace"}),
                           text_at(trial, {"metadata", "name"}), text_at(trial, {"metadata", "uid"})};
  if (!may_write_()) return;
  ApiRequest request{.method = "POST",
                     .path = api_path("v1", "events", about.ns),
                     .body = event_json(about, warning, reason, message)};
  request.wait_ms = 0;
  if (const ApiAnswer answer = client_.send(request); !answer.ok() && !answer.stopped)
    log::warn("Events cannot be written: " + answer.text());
}

}  // namespace tacho
