#include "cli/help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/text_width.h"
#include "cli/docs.h"
#include "cli/metrics.h"
#include "probe/all_metrics.h"

namespace tacho {
namespace {

constexpr auto kHelpTable = std::to_array<Command>({
    {"run", kRun, "[OPTIONS] [--] CMD [ARGS...]", "Start CMD, record it, end with its status.", run_command},
    {"attach", kAttach, "[OPTIONS] --pid PID | --cgroup PATH", "Record something that already runs.", attach_command},
    {"watch", kWatch, "[OPTIONS]", "Record the whole machine until a signal.", watch_command},
    {"runs", kRuns, "[--json]", "List the runs.", runs_command},
    {"list", kList, "metrics|probes|sinks [--json]", "What can be measured.", list_command},
    {"secret", kOther, "", "Not shown.", docs_command, true},
});

void expect_narrow(const std::string& text) {
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(text_width(line), 80u) << line;
}

TEST(Help, BeginsWithExamplesAndIsNarrow) {
  EXPECT_TRUE(program_help(kHelpTable).starts_with("Examples:\n  tacho run -- "));
  expect_narrow(program_help(kHelpTable));
  for (const Command& command : kHelpTable) {
    if (command.hidden) continue;
    EXPECT_TRUE(command_help(command).starts_with("Examples:\n  tacho " + std::string(command.name))) << command.name;
    expect_narrow(command_help(command));
  }
}

TEST(Help, NamesEveryCommandButHiddenOnes) {
  const std::string text = program_help(kHelpTable);
  for (const Command& command : kHelpTable)
    EXPECT_EQ(text.find("\n  " + std::string(command.name) + " ") != std::string::npos, !command.hidden)
        << command.name;
}

TEST(Help, NamesEveryOptionOfACommandAndNoOther) {
  // Options of one name and shape may stand in the table for different commands.
  const auto takes = [](const Command& command, const std::string& label) {
    return std::ranges::any_of(all_options(), [&](const Option& option) {
      return option_label(option) == label && (option.subcommands & command.options) != 0;
    });
  };
  for (const Command& command : kHelpTable) {
    const std::string text = command_help(command);
    for (const Option& option : all_options()) {
      if (option.name == "output" && option.subcommands == kReport) continue;
      const bool named = text.find("  " + option_label(option) + "\n") != std::string::npos ||
                         text.find("  " + option_label(option) + " ") != std::string::npos;
      EXPECT_EQ(named, takes(command, option_label(option))) << command.name << " --" << option.name;
    }
  }
}

TEST(Help, GroupsAreInOrder) {
  const std::string text = command_help(kHelpTable[0]);
  size_t last = 0;
  for (const char* title : {"\nRecording:", "\nOutput:", "\nPrivacy:", "\nMetadata", "\nJob control:", "\nGeneral:"}) {
    const size_t at = text.find(title);
    ASSERT_NE(at, std::string::npos) << title;
    EXPECT_GT(at, last);
    last = at;
  }
}

TEST(Documents, ManPageNamesEveryOptionAndVariable) {
  const std::string text = man_page(kHelpTable);
  EXPECT_TRUE(text.starts_with(".TH TACHO 1 "));
  for (const char* section :
       {"NAME", "SYNOPSIS", "EXAMPLES", "COMMANDS", "OPTIONS", "ENVIRONMENT", "FILES", "EXIT STATUS"})
    EXPECT_NE(text.find(std::string(".SH ") + section + "\n"), std::string::npos) << section;
  for (const Option& option : all_options()) {
    std::string name(option.name);
    for (size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2) name.replace(at, 1, "\\-");
    EXPECT_NE(text.find("\\-\\-" + name), std::string::npos) << option.name;
    for (const std::string_view variable : {option.tacho_env, option.tracker_env})
      EXPECT_NE(text.find(variable), std::string::npos) << variable;
  }
}

TEST(Documents, CompletionsNameEveryOption) {
  const std::array<std::string, 3> texts{bash_completion(kHelpTable), zsh_completion(kHelpTable),
                                         fish_completion(kHelpTable)};
  for (const std::string& text : texts) {
    EXPECT_EQ(text.find("secret"), std::string::npos);
    for (const Option& option : all_options()) {
      unsigned taken = 0;
      for (const Command& command : kHelpTable) taken |= command.hidden ? 0u : command.options & option.subcommands;
      EXPECT_TRUE(taken == 0 || text.find(option.name) != std::string::npos) << option.name;
    }
  }
}

TEST(Documents, MetricsNameEveryColumnOnceAndInOrder) {
  const std::string text = metrics_document();
  size_t last = 0;
  for (const Metric& metric : all_metrics()) {
    const size_t at = text.find("| `" + std::string(metric.column->name) + "` |");
    ASSERT_NE(at, std::string::npos) << metric.column->name;
    EXPECT_GT(at, last) << metric.column->name;
    last = at;
  }
  EXPECT_EQ(all_metrics().front().column->name, "timestamp");
}

}  // namespace
}  // namespace tacho
