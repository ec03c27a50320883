#include "cromwell/analyze_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/writer.h"

namespace tacho {
namespace {

constexpr size_t at(Resource resource) { return static_cast<size_t>(resource); }

void count_attempt(TaskReport& task, const CallAttempt& attempt) {
  task.measured += attempt.samples > 0 ? 1 : 0;
  task.succeeded += attempt.state == CallState::succeeded ? 1 : 0;
  task.failed += attempt.state == CallState::failed ? 1 : 0;
  task.preempted += attempt.preempted ? 1 : 0;
  task.unsized += is_known(attempt.input_gb) ? 0 : 1;
  task.oom_kills += std::max<int64_t>(0, attempt.oom_kills);
  task.missing_rows += std::max<int64_t>(0, attempt.missing_rows);
  if (is_known(attempt.hours())) task.hours += attempt.hours();
  task.input_gb.add(attempt.input_gb);
  for (const Resource resource : kResources) task.requested[at(resource)].add(requested_of(attempt, resource));
}

// "memory can drop from 16 to 6.25 G". Both as WDL writes them: Cromwell takes G for 2^30 bytes.
std::string advice_line(Resource resource, double asked, double advised) {
  if (!is_known(asked) || !is_known(advised)) return {};
  constexpr std::array kNames = {"CPUs", "memory", "disk"}, kUnits = {"", " G", " GB"};
  if (resource == Resource::memory) asked = as_gib(asked);
  if (std::abs(asked - advised) < 0.05) return {};
  const auto short_number = [](double value) {  // steps are a quarter of a G
    Writer out;
    out.put_fixed(value, 2);
    std::string text(out.view());
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
  };
  const bool more = advised > asked;
  return std::string(kNames[at(resource)]) + (more ? " should grow from " : " can drop from ") + short_number(asked) +
         " to " + short_number(advised) + kUnits[at(resource)];
}

void fit_task(TaskReport& task, const AttemptTable& table) {
  for (const Resource resource : kResources) {
    std::vector<UsePoint> points;
    for (const uint32_t index : task.attempts) {
      const CallAttempt& attempt = table.attempts()[index];
      if (const double used = used_of(attempt, resource); is_known(used)) points.push_back({attempt.input_gb, used});
    }
    const ResourceFit fit = ResourceFit::of(resource, points);
    if (fit.is_known()) {
      task.wdl.push_back(fit.wdl(task.disk_type));
      // For the largest input, whatever the smaller ones need.
      const double advised = std::max(fit.amount(task.input_gb.most), fit.amount(task.input_gb.least));
      if (auto line = advice_line(resource, task.requested[at(resource)].most, advised); !line.empty())
        task.advice.push_back(std::move(line));
    }
    task.fits[at(resource)] = fit;
  }
}

void add_money(TaskReport& task, const AttemptTable& table, CostTable& costs,
               std::map<std::string, WorkflowReport>& workflows) {
  const ResourceFit &cpu = task.fits[at(Resource::cpu)], &memory = task.fits[at(Resource::memory)];
  std::set<std::string> names;
  for (const uint32_t index : task.attempts) {
    const CallAttempt& attempt = table.attempts()[index];
    const bool fitted = cpu.is_known() && memory.is_known();
    Money money;
    money.add(costs.spent(attempt),
              fitted ? costs.saved(attempt, cpu.amount(attempt.input_gb), memory.amount(attempt.input_gb)) : kNotKnown);
    task.money.add(money);
    WorkflowReport& workflow = workflows[table.names()[attempt.workflow_name]];
    workflow.money.add(money);
    ++workflow.attempts;
    if (is_known(attempt.hours())) workflow.hours += attempt.hours();
    if (names.insert(table.names()[attempt.workflow_name]).second) ++workflow.tasks;
  }
  task.workflows.assign(names.begin(), names.end());
}

void use_of_samples(TaskReport& task, const UsageFold& fold, const AttemptTable& table) {
  double sum = 0;
  size_t count = 0;
  std::map<uint32_t, size_t> types;
  for (const uint32_t index : task.attempts) {
    const CallAttempt& attempt = table.attempts()[index];
    if (is_known(attempt.cores_mean)) sum += attempt.cores_mean, ++count;
    if (const DiskUse* const disk = attempt.working_disk(); disk != nullptr && !table.names()[disk->type].empty())
      ++types[disk->type];
  }
  if (count > 0) task.cores_mean = sum / static_cast<double>(count);
  const auto most =
      std::max_element(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != types.end()) task.disk_type = table.names()[most->first];
  if (const UseShares* const shares = fold.shares_of(task.task)) task.shares = *shares;
  if (const TaskUsage* const usage = fold.usage_of(task.task))
    task.used = {{{usage->cores.value(), usage->cores.largest()},
                  {usage->memory.value(), usage->memory.largest()},
                  {usage->disk.value(), usage->disk.largest()}}};
}

// By what could be saved, then by what was spent, then by the time.
bool is_worse(const Money& a, double a_hours, const Money& b, double b_hours) {
  if (a.saved != b.saved) return a.saved > b.saved;
  if (a.spent != b.spent) return a.spent > b.spent;
  return a_hours > b_hours;
}

}  // namespace

void ValueRange::add(double value) {
  if (!is_known(value)) return;
  least = is_known(least) ? std::min(least, value) : value;
  most = is_known(most) ? std::max(most, value) : value;
}

double used_of(const CallAttempt& attempt, Resource resource) {
  switch (resource) {
    case Resource::cpu: return attempt.cores_mean;
    case Resource::memory: return attempt.memory_peak;
    case Resource::disk: return attempt.disk_peak();
  }
  return kNotKnown;
}

double requested_of(const CallAttempt& attempt, Resource resource) {
  switch (resource) {
    case Resource::cpu: return attempt.cpus;
    case Resource::memory: return attempt.memory_gb;
    case Resource::disk: return attempt.disk_requested();
  }
  return kNotKnown;
}

AnalyzeReport make_report(const AttemptTable& table, const UsageFold& fold, CostTable& costs) {
  std::map<uint32_t, TaskReport> tasks;
  for (uint32_t index = 0; index < table.attempts().size(); ++index) {
    TaskReport& task = tasks[table.attempts()[index].task];
    task.attempts.push_back(index);
    count_attempt(task, table.attempts()[index]);
  }
  AnalyzeReport report;
  std::map<std::string, WorkflowReport> workflows;
  for (auto& [id, task] : tasks) {
    task.task = id;
    use_of_samples(task, fold, table);
    fit_task(task, table);
    add_money(task, table, costs, workflows);
    report.money.add(task.money);
    report.tasks.push_back(std::move(task));
  }
  for (auto& [name, workflow] : workflows) {
    workflow.name = name;
    report.workflows.push_back(std::move(workflow));
  }
  std::stable_sort(report.tasks.begin(), report.tasks.end(), [](const TaskReport& a, const TaskReport& b) {
    return is_worse(a.money, a.hours, b.money, b.hours);
  });
  std::stable_sort(
      report.workflows.begin(), report.workflows.end(),
      [](const WorkflowReport& a, const WorkflowReport& b) { return is_worse(a.money, a.hours, b.money, b.hours); });
  report.currency = costs.currency();
  report.has_money = report.money.spent_of > 0;
  if (!costs.note().empty()) report.notes.push_back(costs.note());
  if (costs.without_spot_price() > 0)
    report.notes.push_back("the price list is taken as it is for " + std::to_string(costs.without_spot_price()) +
                           " attempts on preemptible machines too: it has no spot_price_per_hour for them");
  return report;
}

}  // namespace tacho
