// tacho query 'SQL': run by tacho-query, which has the database that the agent does not link.
#include <cerrno>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "os/file.h"
#include "os/sibling.h"

namespace tacho {

int query_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kQuery, real_surroundings());
  if (!settings) return refuse(settings.error());
  std::vector<std::string> words{"--store", settings->store_dir};
  for (const char* flag : {"csv", "json", "jsonl", "schema", "no-cache"})
    if (is_set(started.line, flag)) words.push_back(std::string("--") + flag);
  words.emplace_back("--");
  words.insert(words.end(), started.line.words.begin(), started.line.words.end());
  const int reason = become_sibling(kQueryName, words);
  Error error =
      system_error("tacho query needs tacho-query, which cannot be started", sibling_path(kQueryName), reason);
  if (reason == ENOENT)
    error.hint =
        "it is not there; the deb, the rpm, the tar file and the image of tacho have it: put it into the folder of "
        "tacho";
  return refuse(error);
}

}  // namespace tacho
