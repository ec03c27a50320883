#include "cli/setters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/fields.h"
#include "cli/listener.h"
#include "cli/parse.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int64_t kShortestInterval_ns = 10 * kNsPerMs;
constexpr int64_t kLongestInterval_ns = 3600 * kNsPerSec;

Error bad(std::string_view what, std::string_view value, std::string_view hint) {
  return {Code::invalid, std::string(what), std::string(value), std::string(hint)};
}

Status set_interval(Draft& draft, const Value& value) {
  const auto ns = parse_duration_ns(value.text);
  if (!ns && parse_double(value.text).value_or(1) <= 0) return bad("too short", value.text, "from 10ms to 1h");
  if (!ns) return ns.error();
  if (*ns < kShortestInterval_ns) return bad("too short", value.text, "from 10ms to 1h");
  if (*ns > kLongestInterval_ns) return bad("too long", value.text, "from 10ms to 1h");
  draft.settings.interval_ns = *ns;
  return ok();
}

Status set_flag(bool& target, const Value& value) {
  const auto flag = parse_bool(value.text);
  if (!flag) return bad("not a yes or no", value.text, "write 1 or 0, true or false, yes or no, on or off");
  target = *flag;
  return ok();
}

Status set_text(std::string& target, const Value& value) {
  target = value.text;
  return ok();
}

Status set_path(std::string& target, const Value& value) {
  if (value.text.empty()) return bad("is empty", "", "name a file or folder");
  return set_text(target, value);
}

Status set_store(Draft& draft, const Value& value) {
  draft.no_store = false;
  draft.settings.store_named = true;
  return set_path(draft.settings.store_dir, value);
}

// The position of the value among the option's words; enums of Settings are in the order of the table.
Result<size_t> choice(const Value& value) {
  const auto words = choices(value.option);
  const auto found = std::find(words.begin(), words.end(), value.text);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  std::string all;
  for (const std::string_view word : words) (all += all.empty() ? "one of " : ", ") += word;
  if (value.option.metavar.ends_with("|D")) all += ", or a duration";
  return bad("unknown word", value.text, all);
}

template <class Enum>
Status set_choice(Enum& target, const Value& value) {
  const auto index = choice(value);
  if (!index) return index.error();
  target = static_cast<Enum>(*index);
  return ok();
}

Status set_format(Draft& draft, const Value& value) {
  const auto index = choice(value);
  return index ? set_text(draft.settings.format, value) : Status(index.error());
}

Status set_progress(Draft& draft, const Value& value) {
  if (!parse_duration_ns(value.text) && !choice(value)) return choice(value).error();
  return set_text(draft.progress, value);
}

Status set_duration(int64_t& target, const Value& value) {
  const auto ns = parse_duration_ns(value.text);
  if (!ns) return ns.error();
  target = *ns;
  return ok();
}

// A batch more or less is no reason to refuse a start: what makes no sense is the default, with a warning.
Status set_upload_interval(Draft& draft, const Value& value) {
  const auto seconds = parse_double(value.text);
  const auto ns = parse_duration_ns(value.text);
  int64_t& target = draft.settings.upload_interval_ns;
  if (ns) target = std::max(*ns, kNsPerSec);
  else if (seconds && *seconds < 1) target = kNsPerSec;
  else
    log::warn("the upload interval \"" + value.text + "\" is not a number of seconds; using 60"),
        target = 60 * kNsPerSec;
  return ok();
}

Status set_carbon_intensity(Draft& draft, const Value& value) {
  const auto grams = parse_double(value.text);
  if (!grams || !std::isfinite(*grams) || *grams < 0)
    return bad("not a carbon intensity", value.text, "grams of CO2 a kWh, such as 380");
  draft.settings.carbon_intensity = *grams;
  return ok();
}

Status set_timeout(Draft& draft, const Value& value) {
  return set_duration(draft.settings.timeout_ns.emplace(), value);
}

Status set_processes(Draft& draft, const Value& value) {
  constexpr size_t kMost = 1'000'000;
  const auto lines = value.text == "off" ? std::optional<size_t>(0) : parse_int<size_t>(value.text);
  if (!lines || *lines > kMost) return bad("not a number of lines", value.text, "a whole number up to 1000000, or off");
  draft.settings.processes = *lines;
  return ok();
}

Status set_pid(Draft& draft, const Value& value) {
  const auto pid = parse_int<pid_t>(value.text);
  if (!pid || *pid <= 0) return bad("not a process id", value.text, "a whole number above 0");
  draft.settings.attach_pid = *pid;
  return ok();
}

// Who listens there is found before the line is read (cli/listener.h).
Status check_begun_fd(Draft&, const Value& value) {
  if (listener_fd(value.text)) return ok();
  return bad("not an open descriptor", value.text, "a whole number above 2 that tacho inherits");
}

Status add_output(Draft& draft, const Value& value) {
  if (value.text.empty()) return bad("is empty", "", "name a file, a URI, or - for stdout");
  if (value.first) draft.settings.outputs.clear();
  draft.settings.outputs.push_back(value.text);
  return ok();
}

Status add_tag(Draft& draft, const Value& value) {
  const size_t equals = value.text.find('=');
  if (equals == std::string::npos || equals == 0) return bad("not a tag", value.text, "write KEY=VALUE");
  if (value.first) draft.settings.metadata.tags.clear();
  draft.settings.metadata.tags.push_back(value.text);
  return ok();
}

// Hidden fields add up over all sources: a weaker one must not be undone by mistake.
Status add_hidden(Draft& draft, const Value& value) {
  auto& hide = draft.settings.hide;
  for (const std::string_view word : split(value.text, ',')) {
    if (trim(word).empty()) continue;
    auto fields = hidden_fields(trim(word));
    if (!fields) return fields.error();
    for (std::string& field : *fields)
      if (std::find(hide.begin(), hide.end(), field) == hide.end()) hide.push_back(std::move(field));
  }
  return ok();
}

// Each probe by itself: the strongest source that names it decides.
Status switch_probe(std::vector<std::string>& here, std::vector<std::string>& there, const Value& value) {
  for (const std::string_view word : split(value.text, ',')) {
    const std::string name(trim(word));
    if (name.empty()) continue;
    if (find_probe(name) == nullptr) {
      std::vector<std::string_view> names;
      for (const ProbeInfo& probe : all_probes()) names.push_back(probe.name);
      return unknown_word("probe", name, names, "tacho list probes lists all");
    }
    std::erase(there, name);
    if (std::find(here.begin(), here.end(), name) == here.end()) here.push_back(name);
  }
  return ok();
}

Status set_request(Draft& draft, const Value& value) {
  const auto size = parse_request(value.text);
  if (!size) return size.error();
  draft.settings.request = *size;
  return ok();
}

Status add_metric_label(Draft& draft, const Value& value) {
  constexpr size_t kMost = 10;
  auto label = parse_metric_label(value.text);
  if (!label) return label.error();
  MetricLabels& labels = draft.settings.metric_labels;
  if (value.first) labels.clear();
  std::erase_if(labels, [&](const MetricLabel& before) { return before.first == label->first; });
  labels.push_back(std::move(*label));
  if (draft.settings.metric_labels.size() > kMost) return bad("too many labels", value.text, "at most 10");
  return ok();
}

Status set_no_detect(Draft& draft, const Value& value) {
  bool no_detect = false;
  const Status status = set_flag(no_detect, value);
  draft.settings.detect = !no_detect;
  return status;
}

template <std::string Metadata::*member>
Status set_metadata(Draft& draft, const Value& value) {
  return set_text(draft.settings.metadata.*member, value);
}

// One line an option. Those without one are read elsewhere: config, json, help, version.
constexpr auto kSetters = std::to_array<Setter>({
    {"interval", set_interval},
    {"probe", [](Draft& d, const Value& v) { return switch_probe(d.settings.probes_on, d.settings.probes_off, v); }},
    {"no-probe", [](Draft& d, const Value& v) { return switch_probe(d.settings.probes_off, d.settings.probes_on, v); }},
    {"pss", [](Draft& d, const Value& v) { return set_choice(d.settings.pss, v); }},
    {"method", [](Draft& d, const Value& v) { return set_choice(d.settings.method, v); }},
    {"processes", set_processes},
    {"no-devices",
     [](Draft& d, const Value& v) {
       bool off = false;
       const Status status = set_flag(off, v);
       if (status) d.settings.devices = !off;
       return status;
     }},
    {"output", add_output},
    {"format", set_format},
    {"store", set_store},
    {"no-store", [](Draft& d, const Value& v) { return set_flag(d.no_store, v); }},
    {"summary", [](Draft& d, const Value& v) { return set_choice(d.settings.summary, v); }},
    {"quiet", [](Draft& d, const Value& v) { return set_flag(d.settings.quiet, v); }},
    {"progress", set_progress},
    {"live", [](Draft& d, const Value& v) { return set_flag(d.settings.live, v); }},
    {"strict", [](Draft& d, const Value& v) { return set_flag(d.settings.strict, v); }},
    {"deliver", [](Draft& d, const Value& v) { return set_choice(d.settings.deliver, v); }},
    {"upload-interval", set_upload_interval},
    {"data-source-local-name",
     [](Draft& d, const Value& v) {
       const auto index = choice(v);
       return index ? set_text(d.settings.data_source, v) : Status(index.error());
     }},
    {"hide", add_hidden},
    {"no-cloud", [](Draft& d, const Value& v) { return set_flag(d.settings.no_cloud, v); }},
    {"carbon-intensity", set_carbon_intensity},
    {"job-name", set_metadata<&Metadata::job_name>},
    {"project-name", set_metadata<&Metadata::project_name>},
    {"stage-name", set_metadata<&Metadata::stage_name>},
    {"task-name", set_metadata<&Metadata::task_name>},
    {"team", set_metadata<&Metadata::team>},
    {"env", set_metadata<&Metadata::env>},
    {"language", set_metadata<&Metadata::language>},
    {"orchestrator", set_metadata<&Metadata::orchestrator>},
    {"executor", set_metadata<&Metadata::executor>},
    {"external-run-id", set_metadata<&Metadata::external_run_id>},
    {"container-image", set_metadata<&Metadata::container_image>},
    {"tag", add_tag},
    {"request", set_request},
    {"metric-label", add_metric_label},
    {"no-detect", set_no_detect},
    {"pid", set_pid},
    {"cgroup", [](Draft& d, const Value& v) { return set_path(d.settings.attach_cgroup, v); }},
    {"no-children", [](Draft& d, const Value& v) { return set_flag(d.settings.no_children, v); }},
    {"detach", [](Draft& d, const Value& v) { return set_flag(d.settings.detach, v); }},
    {"begun-fd", check_begun_fd},
    {"nested",
     [](Draft& d, const Value& v) {
       const auto index = choice(v);
       if (index) d.settings.nested_pass = v.text == "pass";
       return index ? ok() : Status(index.error());
     }},
    {"fail-open", [](Draft& d, const Value& v) { return set_flag(d.settings.fail_open, v); }},
    {"timeout", set_timeout},
    {"kill-after", [](Draft& d, const Value& v) { return set_duration(d.settings.kill_after_ns, v); }},
    {"color", [](Draft& d, const Value& v) { return set_choice(d.settings.color, v); }},
    {"verbose", [](Draft& d, const Value& v) { return set_flag(d.settings.verbose, v); }},
});

}  // namespace

const Setter* find_setter(std::string_view option) {
  const auto found =
      std::find_if(kSetters.begin(), kSetters.end(), [&](const Setter& s) { return s.option == option; });
  return found == kSetters.end() ? nullptr : &*found;
}

}  // namespace tacho
