// What the collector reads beside its source: durations, the state and the waiting rows that an earlier one left, the
// launcher's record, command lines of other processes, and where a redirect leads.
#include <string>

#include "http/client_socket.h"
#include "katib/collect/collect_state.h"
#include "katib/collect/go_flags.h"
#include "katib/collect/journal.h"
#include "katib/collect/marker.h"
#include "katib/collect/pod.h"
#include "katib/read/row_shaper.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::parse_go_duration_ns(text);
  tacho::parse_marker(text);
  tacho::parse_launcher_record(text);
  tacho::parse_launcher_usage_ns(text, {1, 1});
  tacho::is_wrapper_command(text, "/var/log/katib");
  if (const auto state = tacho::parse_collect_state(text)) {
    const std::string again = tacho::format_state(*state);
    const auto twice = tacho::parse_collect_state(again);
    require(static_cast<bool>(twice) && tacho::format_state(*twice) == again);
  }
  tacho::MetricRow row;
  if (tacho::parse_journal_line(text.substr(0, text.find('\n')), row)) {
    tacho::MetricRow back;
    std::string line = tacho::journal_line(row);
    line.pop_back();
    require(tacho::parse_journal_line(line, back) && back.name == row.name && back.value == row.value &&
            back.step == row.step);
    if (tacho::make_valid(row)) require(row.value.find('\0') == std::string::npos);
  }
  if (const auto path = tacho::redirect_path(text, "/metrics", {false, "127.0.0.1", 8080, ""}))
    require(path->starts_with('/'));
}
