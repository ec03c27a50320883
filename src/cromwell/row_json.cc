#include "cromwell/row_json.h"

#include "base/time_text.h"
#include "base/writer.h"
#include "cromwell/metadata_table.h"
#include "net/google/bigquery.h"

namespace tacho {

std::string rfc3339_us(int64_t realtime_ns) { return format_microseconds(realtime_ns); }

std::string row_json(const MetadataRow& row, size_t most_bytes) {
  Writer out;
  write_metadata_columns(out, row);
  // A text of megabytes is made once, without copies of it. The closing brace comes behind the last members.
  std::string text(out.view().substr(0, out.view().size() - 1));
  bool truncated = row.inputs_truncated, any = false;
  constexpr size_t kTail = 64;  // the closing members
  for (const CallInput& input : row.inputs) {
    out.clear();
    write_metadata_input(out, input);
    const std::string_view one = out.view();
    if (text.size() + one.size() + kTail > most_bytes) {
      truncated = true;
      break;
    }
    text.append(any ? "," : ",\"inputs\":[").append(one);
    any = true;
  }
  if (any) text += ']';
  text.append(truncated ? ",\"inputs_truncated\":true}" : ",\"inputs_truncated\":false}");
  text.shrink_to_fit();
  return text;
}

std::string row_insert_id(const MetadataRow& row) {
  std::string id =
      "c-" + bq_hash({row.workflow_id, row.call_fqn, std::to_string(row.shard), std::to_string(row.attempt)});
  if (!is_terminal_call(row.execution_status)) id.append("-").append(row.execution_status, 0, 64);
  return id;
}

size_t row_bytes(const MetadataRow& row) {
  size_t bytes = 1500 + row.job_id.size() + row.docker_image.size() + row.call_fqn.size();
  for (const CallInput& input : row.inputs) bytes += input.key.size() + input.value.size() + 64;
  for (const Disk& disk : row.disks) bytes += disk.mount.size() + disk.type.size() + 16;
  return bytes;
}

}  // namespace tacho
