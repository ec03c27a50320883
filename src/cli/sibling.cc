#include "cli/sibling.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/flags.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "cli/resolve.h"
#include "os/file.h"
#include "os/sibling.h"
#include "report/store/run_names.h"
#include "report/store/store.h"
#include "spool/contract.h"
#include "spool/layout.h"

namespace tacho {
namespace {

// -c FILE out of the words, which keep the rest.
std::vector<std::string> take_config(std::vector<std::string>& words) {
  constexpr Flag kConfig[] = {{"config", Flag::Kind::text, 'c'}};
  FlagRules rules;
  rules.clusters = true;
  std::vector<std::string> config, rest;
  for (FlagReader reader(words, kConfig, rules); reader.next();) {
    (reader->flag != nullptr ? config : rest).emplace_back(reader->word);
    if (reader->kind == FlagWord::Kind::flag && reader->name == reader->word) config.push_back(reader->value);
  }
  words = std::move(rest);
  return config;
}

// tacho-deliver reads no configuration file: what is said there about privacy goes to it as variables.
Status hand_over_privacy(std::vector<std::string>& words) {
  const auto line = parse_arguments(take_config(words), kWatch, Words::anywhere);
  if (!line) return line.error();
  const auto settings = resolve(*line, kWatch, real_surroundings());
  if (!settings) return settings.error();
  std::string hidden;
  for (const std::string& field : settings->hide) hidden += field + ",";
  ::setenv("TACHO_HIDE", hidden.c_str(), 1);
  if (settings->no_cloud) ::setenv("TACHO_NO_CLOUD", "1", 1);
  return ok();
}

// A folder here that tacho deliver may be able to send: a run of a spool, or a folder with runs. Each has a
// description.
bool is_deliverable(const std::string& path) {
  const auto is_run = [](const std::string& folder) {
    return file_exists(folder + '/' + std::string(kMetaName)) || file_exists(folder + '/' + std::string(kSealsName));
  };
  bool found = is_run(path);
  list_directory(path, [&](std::string_view name) { found = found || is_run(path + "/" + std::string(name)); });
  return found;
}

bool is_bare_flag(std::string_view word) {
  const auto& flags = delivering::kBareFlags;
  return word.starts_with("--") && std::find(flags.begin(), flags.end(), word.substr(2)) != flags.end();
}

// tacho-deliver knows the ids of what is in the spool, and parts of them; what only the store can tell (last, a job
// name) becomes an id here. Words behind -- are names whatever they look like.
Status name_runs(std::vector<std::string>& words) {
  const auto settings = resolve({}, kRuns, real_surroundings());
  if (!settings) return settings.error();
  bool are_names = false;
  for (size_t i = 1; i < words.size(); ++i) {
    std::string& word = words[i];
    const std::string& before = words[i - 1];
    const bool is_value =
        !are_names && before.starts_with("--") && !is_bare_flag(before) && before.find('=') == std::string::npos;
    if (is_value) continue;
    if (!are_names && word == "--") {
      are_names = true;
      continue;
    }
    const bool is_path = word.find('/') != std::string::npos && file_exists(word);
    if ((!are_names && word.starts_with("-")) || is_path || word.empty()) continue;
    const auto names = run_names(settings->store_dir);
    if (!names) return names.error();
    const auto fits = [&](const std::string& id) { return is_part_of(word, id); };
    if (std::any_of(names->begin(), names->end(), fits)) continue;
    const auto stored = find_run(settings->store_dir, word);
    if (stored && is_deliverable("./" + word))
      return Error{Code::invalid, "both a run and a folder here are called so", word,
                   "for the run write " + stored->run.id + ", for the folder ./" + word};
    if (stored) word = stored->run.id;
    else if (stored.error().code == Code::invalid) return stored.error();
  }
  return ok();
}

}  // namespace

Error become_deliver(const std::vector<std::string>& words, const std::string& what) {
  const int reason = become_sibling(kDelivererName, words);
  Error error =
      system_error(what + " needs tacho-deliver, which cannot be started", sibling_path(kDelivererName), reason);
  if (reason == ENOENT) error.hint = "it is not there; install it in the same folder as tacho";
  return error;
}

// Everything that speaks HTTP is in tacho-deliver; it takes tacho's place, with the same words.
int sibling_command(const Invocation& call) {
  std::vector<std::string> words{std::string(call.command.name)};
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  if (call.command.name == "discover")
    if (const Status status = hand_over_privacy(words); !status) return refuse(status.error());
  if (call.command.name == "deliver")
    if (const Status status = name_runs(words); !status) return refuse(status.error());
  return refuse(become_deliver(words, "tacho " + std::string(call.command.name)));
}

}  // namespace tacho
