#include <cstdio>
#include <iostream>

#include "base/backoff.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cromwell/commands.h"
#include "cromwell/options.h"
#include "cromwell/step_line.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr const char kUploadHelp[] =
    "Examples:\n"
    "  tacho cromwell upload 5d96fd3c-1a89-40ae-8095-c364181cda46\n"
    "  cat ids.txt | tacho cromwell upload\n"
    "  tacho cromwell upload --metadata metadata.json.gz\n\n"
    "Usage: tacho cromwell upload [OPTIONS] [ID...]\n"
    "One row a call attempt into the metadata table. Ids are read from stdin, one a line, when none is named. Exit "
    "status: 0 all\n"
    "uploaded, 1 some failed, 2 wrong usage.\n\n";

constexpr int64_t kMostWaitMs = 60'000;

// One a line; blank lines and those that begin with # are passed over.
std::vector<std::string> ids_of_stdin() {
  std::vector<std::string> ids;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string_view id = trim(line);
    if (!id.empty() && id[0] != '#') ids.emplace_back(id);
  }
  return ids;
}

// With --wait as often as it takes until the workflow is over.
UploadResult upload_when_over(WorkflowUploader& uploader, const std::string& id, bool wait) {
  for (DoublingPause wait_ms(1'000, kMostWaitMs);;) {
    UploadResult result = uploader.upload_id(id);
    if (!wait || !result.not_over) return result;
    log::debug("waiting for workflow " + id);
    system_clock().wait({}, system_clock().monotonic_ns() + wait_ms.next() * kNsPerMs);
  }
}

int finish(std::span<const std::string> failed) {
  if (failed.empty()) return 0;
  std::string text = std::to_string(failed.size()) + " failed:";
  for (const std::string& name : failed) text += "\n  " + name;
  log::error(text);
  return 1;
}

}  // namespace

int upload_command(std::span<const std::string> arguments) {
  const auto options = parse_options(kUpload, arguments);
  if (!options) return log::error(options.error().message()), kBadUsage;
  if (options->help) return std::fputs((kUploadHelp + options_help(kUpload)).c_str(), stdout) < 0 ? 1 : 0;
  const bool from_file = !options->metadata.empty();
  if (from_file && !options->words.empty()) return log::error("name ids or --metadata, not both"), kBadUsage;
  auto settings = upload_settings(*options, !from_file);
  if (!settings) return log::error(settings.error().message()), exit_of(settings.error());
  const auto size_options = size_settings(*options);
  if (!size_options) return log::error(size_options.error().message()), kBadUsage;
  SizeLookup sizes(*size_options);
  StepLine steps(!options->quiet && !options->dry_run);
  std::string which;  // "2/10 "
  settings->on_step = [&](const std::string& step, const std::string& how_far) { steps.show(which + step, how_far); };
  WorkflowUploader uploader(std::move(*settings), sizes);

  std::vector<std::string> failed;
  const auto tell = [&](const std::string& name, const UploadResult& result) {
    steps.clear();
    if (!result.good()) failed.push_back(name + ": " + result.text());
    else if (!options->dry_run && !options->quiet)
      std::fprintf(stderr, "tacho: %s: %s\n", name.c_str(), result.text().c_str());
  };
  if (from_file) {
    tell(options->metadata, uploader.upload_file(options->metadata));
    return finish(failed);
  }
  const std::vector<std::string> words = options->words.empty() ? ids_of_stdin() : options->words;
  if (words.empty()) log::warn("no workflow id is given: name them, or write one a line to stdin");
  for (size_t number = 0; number < words.size(); ++number) {
    const std::string id(trim(words[number]));
    if (id.empty() || id[0] == '#') continue;
    if (words.size() > 1) which = std::to_string(number + 1) + "/" + std::to_string(words.size()) + " ";
    if (may_be_workflow_id(id)) tell(id, upload_when_over(uploader, id, options->wait));
    else failed.push_back(id + ": this is no workflow id");
  }
  return finish(failed);
}

}  // namespace tacho
