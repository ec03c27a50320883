// tacho docs: what the build and the repository keep as files.
#include "cli/docs.h"

#include <array>
#include <set>

#include "base/text.h"
#include "cli/metrics.h"
#include "cli/resolve.h"
#include "report/store/newest.h"

namespace tacho {
namespace {

// For completions, a line each: names that a shell can show and a person can type. Of a large store the newest runs.
std::string run_names_document(bool with_ids) {
  constexpr size_t kMost = 200;
  const auto settings = resolve({}, kRuns, real_surroundings());
  if (!settings) return {};
  auto newest = NewestRuns::open(settings->store_dir);
  if (!newest) return {};
  std::string out;
  std::set<std::string> jobs;
  for (size_t i = 0; i < kMost; ++i) {
    const auto stored = newest->next();
    if (!stored) break;
    if (with_ids) out += stored->shown_id() + "\n";
    const std::string& job = stored->run.metadata.job_name;
    if (!job.empty() && harmless_text(job) == job && jobs.insert(job).second) out += job + "\n";
  }
  return out;
}

struct Document {
  std::string_view name;
  std::string (*make)(std::span<const Command> commands);
};
constexpr std::array<Document, 7> kDocuments{{
    {"metrics", [](std::span<const Command>) { return metrics_document(); }},
    {"man", man_page},
    {"completion-bash", bash_completion},
    {"completion-zsh", zsh_completion},
    {"completion-fish", fish_completion},
    {"run-names", [](std::span<const Command>) { return run_names_document(true); }},
    {"job-names", [](std::span<const Command>) { return run_names_document(false); }},
}};

}  // namespace

int docs_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  std::vector<std::string_view> names;
  for (const Document& document : kDocuments) {
    names.push_back(document.name);
    if (started.line.words.size() == 1 && started.line.words[0] == document.name)
      return print(document.make(call.commands));
  }
  const std::string word = started.line.words.empty() ? "" : started.line.words[0];
  return refuse(
      unknown_word("document", word, names, "metrics, man, completion-bash, completion-zsh or completion-fish"));
}

}  // namespace tacho
