// The files of a run folder that the page is made of: metrics.csv, devices.csv, processes.csv, marks.csv, run.json.
// Whatever they hold, the page is small, its data is JSON, and nothing of theirs is markup.
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "report/page/html_charts.h"
#include "report/page/html_devices.h"
#include "report/page/html_page.h"
#include "report/page/page_marks.h"
#include "report/store/input.h"
#include "report/store/marks.h"
#include "target.h"

namespace {

// A file without a disk.
std::string file_of(int fd, std::string_view text) {
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) std::abort();
  return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

void fuzz_one(std::string_view text) {
  static const int fd = ::memfd_create("fuzz", 0);
  const std::string path = file_of(fd, text);
  tacho::ReportRun report;
  report.title = std::string(text.substr(0, 40));
  report.stored.run.notes = {std::string(text)};
  report.start_s = 1000;
  report.processes = tacho::read_page_processes(path);
  report.devices = tacho::read_page_devices(path, {}, 50);
  tacho::MarksParser marks;
  marks.take(text);
  report.marks = tacho::page_marks(report.stored.run, marks.finish(), {});
  tacho::CsvReader reader;
  report.rows = tacho::page_rows_for(0);
  reader.tee([&](std::string_view bytes) { report.rows->take(bytes); });
  if (reader.open(path)) {
    report.series.begin(reader.schema(), tacho::charted_columns(), 50);
    tacho::each_row(reader, {}, [&](const tacho::Row& row) {
      require(row.cells.size() == reader.columns().size());
      report.series.add(row);
      report.rows->add(reader.line_of(row));
    });
  }
  report.rows->finish(reader.is_at_end());
  const std::string page = tacho::html_page({&report, 1}, {});
  require(page.size() <= tacho::kPageBytes);
  const size_t at = page.find("id=data>") + 8, end = page.find("</script>", at);
  require(nlohmann::json::accept(page.substr(at, end - at)));
}
