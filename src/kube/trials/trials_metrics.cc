#include "kube/trials/trials_metrics.h"

#include "base/text.h"

namespace tacho {
namespace {

constexpr const char* kNames[] = {"katib_trial_created_total", "katib_trial_deleted_total",
                                  "katib_trial_succeeded_total", "katib_trial_failed_total",
                                  "katib_trial_metrics_unavailable_total"};
constexpr const char* kHelp[] = {"Trials created", "Trials deleted", "Trials that succeeded", "Trials that failed",
                                 "Trials whose metrics are unavailable"};

void head(std::string& out, const char* name, const char* help, const char* type) {
  out.append("# HELP ")
      .append(name)
      .append(" ")
      .append(help)
      .append("\n# TYPE ")
      .append(name)
      .append(" ")
      .append(type)
      .append("\n");
}

// Names of namespaces and resources are DNS labels: nothing in them needs an escape.
template <class Number>
void line(std::string& out, const char* name, const std::string& labels, Number value) {
  out.append(name)
      .append(labels.empty() ? "" : "{" + labels + "}")
      .append(" ")
      .append(std::to_string(value))
      .append("\n");
}

std::string label(const char* name, const std::string& value) {
  return std::string(name).append("=\"").append(value).append("\"");
}

// A Trial's conditions are written by others, and may be called anything.
std::string known_state(const std::string& state) {
  for (const char* known :
       {"", "Created", "Running", "Succeeded", "Failed", "Killed", "EarlyStopped", "MetricsUnavailable"}) {
    if (state == known) return state;
  }
  return "Other";
}

}  // namespace

void TrialsMetrics::count(Event event, const std::string& ns) {
  const std::lock_guard lock(mutex_);
  ++events_[event][ns];
}

void TrialsMetrics::moved(const std::string& ns, const std::string& was, const std::string& is) {
  const std::string from = known_state(was), to = known_state(is);
  if (from == to) return;
  const std::lock_guard lock(mutex_);
  if (!from.empty()) --current_[{ns, from}];
  if (!to.empty()) ++current_[{ns, to}];
}

void TrialsMetrics::difference(const std::string& ns, const std::string& field) {
  const std::lock_guard lock(mutex_);
  ++differences_[{ns, field}];
}

std::string TrialsMetrics::text(bool own, bool leads, const std::vector<WatchCount>& watches) const {
  std::string out;
  const auto of_watches = [&](const char* name, const char* help, const char* type, auto value) {
    head(out, name, help, type);
    for (const WatchCount& watch : watches) line(out, name, label("resource", watch.resource), value(watch));
  };
  of_watches("tacho_watch_restarts_total", "Watches that ended and were opened again", "counter",
             [](const WatchCount& watch) { return watch.restarts; });
  of_watches("tacho_watch_relists_total", "Lists made again after 410 Gone", "counter",
             [](const WatchCount& watch) { return watch.relists; });
  of_watches("tacho_watch_objects", "Objects in the cache", "gauge",
             [](const WatchCount& watch) { return watch.objects; });
  head(out, "tacho_status_conflicts_total", "Writes that somebody else was ahead of", "counter");
  line(out, "tacho_status_conflicts_total", "", conflicts_.load());
  head(out, "tacho_leader", "1 on the replica that works", "gauge");
  line(out, "tacho_leader", "", leads ? 1 : 0);
  const std::lock_guard lock(mutex_);
  if (!own) {
    head(out, "tacho_trials_checked_total", "Trials whose final metrics were computed and compared", "counter");
    line(out, "tacho_trials_checked_total", "", checked_.load());
    head(out, "tacho_trials_differences_total", "Trials whose status differs from what tacho computes", "counter");
    for (const auto& [key, value] : differences_)
      line(out, "tacho_trials_differences_total",
           label("namespace", key.first).append(",").append(label("field", key.second)), value);
    return out;
  }
  for (int event = 0; event < kEvents; ++event) {
    head(out, kNames[event], kHelp[event], "counter");
    for (const auto& [ns, value] : events_[event]) line(out, kNames[event], label("namespace", ns), value);
  }
  head(out, "katib_trials_current", "Trials by state", "gauge");
  for (const auto& [key, value] : current_)
    line(out, "katib_trials_current", label("namespace", key.first).append(",").append(label("status", key.second)),
         value);
  return out;
}

}  // namespace tacho
