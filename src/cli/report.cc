// tacho report RUN|FILE... [-o report.html]
#include "cli/commands.h"
#include "cli/resolve.h"
#include "report/html.h"

namespace tacho {

int report_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kReport, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (started.line.words.empty())
    return refuse({Code::invalid, "no run to report on", "", "write tacho report last, or name a run or file"});
  const std::string output = settings->outputs.empty() ? "report.html" : settings->outputs.back();
  const Status status = write_html_report(started.line.words, settings->store_dir, output);
  if (!status) return refuse(status.error());
  return output == "-" ? 0 : print("wrote " + output + "\n");
}

}  // namespace tacho
