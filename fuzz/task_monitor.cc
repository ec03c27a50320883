// What a task monitor reads from outside: records of a spool that was torn or damaged, DISK_MOUNTS, mounts, and values
// of the environment.
#include <string>

#include "monitor/environment.h"
#include "monitor/mount_list.h"
#include "monitor/task_spool.h"
#include "spool/bq_record.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::BqRecords records(text);
  int64_t count = 0;
  for (tacho::BqRecord record; records.next(record); ++count)
    require(is_inside(record.row, text) && is_inside(record.line, text) && record.line.ends_with('\n'));
  int64_t rows = 0, left = 0, dropped = 0;
  require(tacho::whole_bq_records(text, &rows) <= text.size() && rows == count);
  require(tacho::thinned(text, left, dropped).size() <= text.size() && left + dropped == count);

  const std::vector<std::string> mounts = tacho::split_mounts(text);
  for (const std::string& mount : mounts) require(!mount.empty());
  const auto nothing = [](const std::string&) { return false; };
  require(!tacho::choose_mounts({mounts, "/", false, nothing}, text).mounts.empty());
  static_cast<void>(tacho::parse_preemptible(text));
  static_cast<void>(tacho::parse_shard(text));
  require(!tacho::is_dataset_name(text) || text.find_first_of("/.:?# ") == std::string_view::npos);
  require(!tacho::is_table_name(text) || text.find_first_of("/.:?#%") == std::string_view::npos);
}
