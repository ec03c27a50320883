#include "cromwell/service.h"

#include <mutex>

#include "base/log.h"
#include "base/text.h"
#include "base/writer.h"

namespace tacho {
namespace {

constexpr size_t kRecent = 10'000;

ServedResponse answer(int status, std::string_view what, const std::string& text) {
  Writer out(256);
  JsonWriter json(out);
  json.object().key(what).value(text).end_object();
  ServedResponse response{status, "application/json", std::string(out.view()) + "\n", {}};
  if (status == 503) response.headers.emplace_back("Retry-After", "30");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

// What a person finds in the log: one line an event.
void note(const PostedEvent& event, const std::string& text) {
  std::string line = event.id.empty() ? "event" : "workflow " + event.id;
  if (!event.message_id.empty()) line += " (message " + event.message_id.substr(0, 100) + ")";
  log::error(harmless_text((line + ": " + text).substr(0, 4'000)));
}

std::string key_of(const PostedEvent& event) {
  // Cromwell's own callback comes for workflows that are over.
  if (event.object.empty()) return "callback\n" + event.id;
  // Without a generation a new object of the same name cannot be told from the old one.
  return event.object.empty() || event.generation.empty()
             ? ""
             : event.bucket + "\n" + event.object + "\n" + event.generation;
}

}  // namespace

ServedResponse Service::handle(const ServedRequest& request) {
  if (request.path == "/healthz" && (request.method == "GET" || request.method == "HEAD"))
    return {200, "text/plain; charset=utf-8", "ok\n", {}};
  if (request.method != "POST") {
    ServedResponse response = answer(405, "error", "send events with POST");
    response.headers.emplace_back("Allow", "POST");
    return response;
  }
  std::string why;
  if (const int refused = callers_.check(request.header("authorization"), why); refused != 0) {
    log::warn("a caller is refused: " + why);
    return answer(refused, "error", why);
  }
  const PostedEvent found = read_event(request.headers, request.body);
  switch (found.kind) {
    case PostedEvent::Kind::malformed:
      note(found, "a malformed event: " + found.why);
      return answer(400, "error", found.why);
    case PostedEvent::Kind::ignored: log::debug(harmless_text("ignored: " + found.why)); return {204, "", "", {}};
    case PostedEvent::Kind::workflow: break;
  }
  return event(found);
}

ServedResponse Service::event(const PostedEvent& event) {
  const std::string key = key_of(event);
  if (!key.empty() && was_done(key)) {
    log::debug("workflow " + event.id + " was uploaded for this event already");
    return answer(200, "skipped", "this was done already");
  }
  const Result_ result = upload(event.id);
  if (!result) return answer(503, "error", "too many uploads wait; send it again later");
  note(event, result->text());
  // Whatever makes no sense in a workflow will not get better by sending it again; it is in the log.
  if (result->why.empty() && result->sizes.failed == 0) {
    if (!key.empty()) remember(key);
    return answer(200, result->already_there > 0 && result->tally.rows == 0 ? "skipped" : "done", result->text());
  }
  return answer(result->later || result->sizes.failed > 0 ? 503 : 500, "error", result->text());
}

// One workflow that nobody has thought of must not end the service: its event would come back, and end it again.
Service::Result_ Service::upload_now(const std::string& id) {
  std::string why;
  try {
    return std::make_shared<const UploadResult>(uploader_(id));
  } catch (const std::exception& error) { why = error.what(); } catch (...) {
    why = "unknown";
  }
  UploadResult failed;
  failed.why = "the workflow could not be worked on: " + why;
  return std::make_shared<const UploadResult>(std::move(failed));
}

Service::Result_ Service::upload(const std::string& id) {
  std::unique_lock lock(wait_lock_);
  if (const auto found = jobs_.find(id); found != jobs_.end()) {
    const std::shared_ptr<Job> job = found->second;
    if (waiting_ >= limits_.waiting) return nullptr;
    ++waiting_;
    while (!job->result) wait_lock_.wait();
    --waiting_;
    return job->result;
  }
  if (running_ >= limits_.jobs && waiting_ >= limits_.waiting) return nullptr;
  const auto job = jobs_[id] = std::make_shared<Job>();
  ++waiting_;
  while (running_ >= limits_.jobs) wait_lock_.wait();
  --waiting_;
  ++running_;
  lock.unlock();
  const Result_ result = upload_now(id);
  lock.lock();
  --running_;
  job->result = result;
  jobs_.erase(id);
  wait_lock_.notify_all();
  return result;
}

bool Service::was_done(const std::string& key) {
  const std::lock_guard lock(wait_lock_);
  return recent_keys_.contains(key);
}

void Service::remember(const std::string& key) {
  const std::lock_guard lock(wait_lock_);
  if (!recent_keys_.insert(key).second) return;
  recent_.push_back(key);
  if (recent_.size() <= kRecent) return;
  recent_keys_.erase(recent_.front());
  recent_.pop_front();
}

}  // namespace tacho
