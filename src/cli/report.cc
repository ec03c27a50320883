// tacho report RUN|FILE... [-o report.html] [--title T] [--max-points N]
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "os/browser.h"
#include "report/page/html.h"

namespace tacho {
namespace {

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A page in a file of another ending would be opened by the wrong program.
Status check_output(const std::string& output) {
  for (const std::string_view ending : {".pdf", ".png", ".svg", ".jpg", ".csv", ".json", ".jsonl", ".docx", ".md"})
    if (lower(output).ends_with(ending))
      return Error{Code::invalid, "a report is a page of HTML", output,
                   "write -o " + output.substr(0, output.size() - ending.size()) +
                       ".html; a browser prints it as PDF, and tacho show RUN --path has the rows"};
  if (is_folder(output))
    return Error{Code::invalid, "the output is a folder", output, "name a file in it: -o " + output + "/report.html"};
  const size_t slash = output.rfind('/');
  if (slash != std::string::npos && slash > 0 && !is_folder(output.substr(0, slash)))
    return Error{Code::invalid, "there is no such folder", output,
                 "make it first: mkdir -p " + shell_word(output.substr(0, slash))};
  return ok();
}

Result<PageOptions> page_options(const ParsedLine& line) {
  constexpr int64_t kFewest = 2, kMost = 20'000;
  PageOptions options;
  for (const Given& given : line.given) {
    if (given.option->name == "title") options.title = given.value;
    if (given.option->name != "max-points") continue;
    const auto points = parse_int<int64_t>(given.value);
    if (!points || *points < kFewest || *points > kMost)
      return Error{Code::invalid, "not a number of points", given.value, "--max-points takes 2 to 20000"};
    options.max_points = static_cast<size_t>(*points);
  }
  return options;
}

}  // namespace

int report_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kReport, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (started.line.words.empty())
    return refuse({Code::invalid, "no run to report on", "", "write tacho report last, or name a run or file"});
  const auto options = page_options(started.line);
  if (!options) return refuse(options.error());
  const std::string output = settings->outputs.empty() ? "report.html" : settings->outputs.back();
  if (const Status named = check_output(output); !named) return refuse(named.error());
  const bool open = is_set(started.line, "open");
  if (open && output == "-")
    return refuse({Code::invalid, "--open needs a file", "-o -", "write -o report.html --open"});
  const Status status = write_html_report(started.line.words, settings->store_dir, output, *options);
  if (!status) return refuse(status.error());
  if (output == "-") return 0;
  const int printed = print("wrote " + output + "\n");
  if (open)
    if (const Status shown = open_in_browser(output); !shown) log::warn(shown.error());
  return printed;
}

}  // namespace tacho
