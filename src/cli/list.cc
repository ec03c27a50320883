// tacho list metrics|probes|sinks: the tables, and what cannot be had here.
#include <unistd.h>

#include <array>

#include "base/writer.h"
#include "cli/commands.h"
#include "cli/metrics.h"
#include "cli/resolve.h"
#include "engine/settings.h"
#include "os/file.h"
#include "os/sibling.h"
#include "os/text_table.h"
#include "probe/all_metrics.h"
#include "probe/kit/probe.h"
#include "sink/sink.h"

namespace tacho {
namespace {

// A table for a person, and the same cells as objects for a program.
struct Listing {
  Table table;
  std::vector<std::string_view> keys;

  std::string json() const {
    Writer out;
    JsonWriter json(out, true);
    json.array();
    for (const auto& row : table.rows) {
      json.object();
      for (size_t i = 0; i < row.size(); ++i) {
        json.key(keys[i]);
        if (keys[i] == "available") json.value(row[i] == "yes");
        else json.value(row[i]);
      }
      json.end_object();
    }
    json.end_array();
    return std::string(out.view()) + "\n";
  }
};

Listing list_metrics() {
  Listing listing{{{"METRIC", "UNIT", "PROBE", "HERE", "MEANING"}, {}, Overlong::wrap},
                  {"name", "unit", "probe", "available", "help"}};
  const Roots roots = Roots::from_environment();
  for (const Metric& metric : all_metrics()) {
    const bool here = metric.probe == nullptr || static_cast<bool>(metric.probe->check(roots));
    listing.table.rows.push_back({std::string(metric.column->name), std::string(metric.column->unit),
                                  std::string(metric.probe == nullptr ? "" : metric.probe->name), here ? "yes" : "no",
                                  std::string(metric.column->help)});
  }
  return listing;
}

Listing list_probes() {
  Listing listing{{{"PROBE", "DEFAULT", "HERE", "MEANING"}, {}, Overlong::wrap},
                  {"name", "default", "available", "help"}};
  const Roots roots = Roots::from_environment();
  for (const ProbeInfo& probe : all_probes()) {
    const Status status = probe.check(roots);
    listing.table.rows.push_back({std::string(probe.name), std::string(default_word(probe.by_default)),
                                  status ? "yes" : "no",
                                  std::string(probe.help) + (status ? "" : "; not here: " + status.error().message())});
  }
  return listing;
}

Listing list_sinks() {
  Listing listing{{{"SINK", "MATCHES", "HERE", "MEANING"}, {}, Overlong::wrap},
                  {"name", "pattern", "available", "help"}};
  const std::string deliverer = sibling_path(kDelivererName);
  for (const SinkInfo& sink : all_sinks()) {
    const bool here = !sink.pattern.ends_with("://") || file_exists(deliverer);  // what is remote is sent by it
    listing.table.rows.push_back({std::string(sink.name), std::string(sink.pattern), here ? "yes" : "no",
                                  std::string(sink.help) + (here ? "" : "; not here: there is no " + deliverer)});
  }
  return listing;
}

struct Subject {
  std::string_view name;
  Listing (*list)();
};
constexpr std::array<Subject, 3> kSubjects{{{"metrics", list_metrics}, {"probes", list_probes}, {"sinks", list_sinks}}};

}  // namespace

int list_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kList, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto& words = started.line.words;
  for (const Subject& subject : kSubjects) {
    if (words.size() != 1 || words[0] != subject.name) continue;
    const Listing listing = subject.list();
    const bool color = use_color(settings->color, STDOUT_FILENO);
    return print(is_set(started.line, "json") ? listing.json()
                                              : listing.table.text(color, terminal_width(STDOUT_FILENO)));
  }
  std::vector<std::string_view> names;
  for (const Subject& subject : kSubjects) names.push_back(subject.name);
  if (words.size() == 1) return refuse(unknown_word("list", words[0], names, "metrics, probes or sinks"));
  return refuse(
      {Code::invalid, "list needs one word", "", "metrics, probes or sinks; recorded runs are listed by tacho runs"});
}

}  // namespace tacho
