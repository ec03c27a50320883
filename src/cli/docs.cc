// tacho docs: what the build and the repository keep as files.
#include "cli/docs.h"

#include <array>

#include "cli/metrics.h"

namespace tacho {
namespace {

struct Document {
  std::string_view name;
  std::string (*make)(std::span<const Command> commands);
};
constexpr std::array<Document, 5> kDocuments{{
    {"metrics", [](std::span<const Command>) { return metrics_document(); }},
    {"man", man_page},
    {"completion-bash", bash_completion},
    {"completion-zsh", zsh_completion},
    {"completion-fish", fish_completion},
}};

}  // namespace

int docs_command(const Call& call) {
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
