// tacho compare A B…: runs or metrics files side by side, and conditions that a script may fail by.
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "engine/settings.h"
#include "os/text_table.h"
#include "report/compare.h"
#include "report/conditions.h"
#include "report/store/input.h"

namespace tacho {
namespace {

constexpr int kConditionHolds = 3;
constexpr size_t kShownCommand = 40;  // of a command, where no terminal says how much fits

Result<std::vector<Input>> inputs_of(const std::vector<std::string>& words, const std::string& store_dir) {
  auto inputs = read_inputs(store_dir, words);
  if (!inputs || inputs->size() > 1) return inputs;
  if (is_metrics_file(words[0]))
    return Error{Code::invalid, "compare takes two runs or more", words[0],
                 "write tacho compare " + words[0] + " OTHER"};
  // One run alone: against the one before it.
  auto before = run_before(store_dir, inputs->front().stored);
  if (!before) return before.error();
  inputs->insert(inputs->begin(), stored_input(std::move(*before)));
  return inputs;
}

// Every condition is asked before any of them counts.
Result<std::vector<std::string>> failed_conditions(const std::vector<std::string>& texts,
                                                   const std::vector<StoredRun>& runs) {
  std::vector<std::string> failed;
  for (const std::string& text : texts) {
    const auto condition = parse_condition(text);
    if (!condition) return condition.error();
    const auto sentences = holding(*condition, runs);
    if (!sentences) return sentences.error();
    failed.insert(failed.end(), sentences->begin(), sentences->end());
  }
  return failed;
}

// The first run and as many others as a line has room for; the rest below.
std::string tables(const Comparison& comparison, bool color, size_t width) {
  auto cells = comparison_cells(comparison);
  std::string out;
  const size_t others = comparison.names.size() - 1;
  for (size_t from = 0; from < others;) {
    size_t count = others - from;
    for (;; --count) {
      Table table;
      table.right_from = 1;
      for (const auto& row : cells) {
        std::vector<std::string> kept{row[0], row[1]};
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(2 + 2 * from);
        kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(2 * count));
        if (table.header.empty()) table.header = std::move(kept);
        else table.rows.push_back(std::move(kept));
      }
      if (!table.rows.empty() && table.rows.back()[0] == "command") {
        table.flexible_row = table.rows.size() - 1;
        if (width == 0)
          for (std::string& cell : table.rows.back()) cell = cut_text(cell, kShownCommand);
      }
      if (count > 1 && width > 0 && table.least_width() > width) continue;
      out += (out.empty() ? "" : "\n") + table.text(color, width);
      break;
    }
    from += count;
  }
  return out;
}

}  // namespace

int compare_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const ParsedLine& line = started.line;
  const auto settings = resolve(line, kCompare, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (line.words.empty())
    return refuse({Code::invalid, "compare takes two runs or more", "",
                   "write tacho compare RUN RUN, or tacho compare last for the last run against the one before it"});
  if (is_set(line, "json") && is_set(line, "markdown"))
    return refuse({Code::invalid, "--json and --markdown exclude each other", "", "give one of them"});
  const auto inputs = inputs_of(line.words, settings->store_dir);
  if (!inputs) return refuse(inputs.error());
  std::vector<StoredRun> runs;
  for (const Input& input : *inputs) runs.push_back(input.stored);
  const auto failed = failed_conditions(values_of(line, "fail-if"), runs);
  if (!failed) return refuse(failed.error());
  Comparison comparison = compare(runs);
  for (const Input& input : *inputs) {
    const auto verdict = verdict_of(input);
    comparison.verdicts.push_back(verdict ? verdict->judgement : Judgement{});
  }
  comparison.failed = *failed;
  const bool color = use_color(settings->color, STDOUT_FILENO);
  const int printed =
      is_set(line, "json") ? print(comparison_json(comparison))
      : is_set(line, "markdown")
          ? print(comparison_markdown(comparison))
          : print_folded(tables(comparison, color, terminal_width(STDOUT_FILENO)) + verdict_changes(comparison));
  for (const std::string& sentence : *failed) log::error(sentence);
  return printed != 0 ? printed : failed->empty() ? 0 : kConditionHolds;
}

}  // namespace tacho
