// The two passes over documents: what rows come out, row by row of the contract's table.
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "cromwell/row_json.h"
#include "cromwell/rows_pass.h"
#include "os/file.h"
#include "os/temporary_file.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

MetadataFile file_of(const std::string& text) {
  auto fd = open_temporary_file();
  EXPECT_TRUE(fd);
  EXPECT_TRUE(write_all(fd->get(), text));
  return MetadataFile(std::move(*fd));
}

struct Rows {
  std::vector<MetadataRow> rows;
  Tally tally;
  std::vector<std::string> sub_ids;
  std::string error;
  Json json(size_t index) const { return Json::parse(row_json(rows.at(index))); }
  const MetadataRow* find(const std::string& fqn, int64_t attempt = 1) const {
    for (const MetadataRow& row : rows)
      if (row.call_fqn == fqn && row.attempt == attempt) return &row;
    return nullptr;
  }
};

Rows rows_of(const MetadataFile& file, RowOptions options = {}) {
  Rows result;
  auto known = survey(file);
  EXPECT_TRUE(known);
  if (known->broken) result.error = known->broken->what;
  RowsPass pass;
  pass.options = options;
  pass.root_id = known->root.id;
  pass.quiet = true;
  pass.row = [&](MetadataRow& row) { return result.rows.push_back(row), true; };
  pass.sub_workflow_id = [&](const std::string& id) { result.sub_ids.push_back(id); };
  const Status status = run_rows_pass(file, *known, pass, result.tally);
  if (!status) result.error = status.error().what;
  return result;
}
Rows rows_of(const std::string& text, RowOptions options = {}) { return rows_of(file_of(text), options); }

Rows rows_of_fixture(const std::string& name, RowOptions options = {}) {
  auto file = MetadataFile::open(std::string(TACHO_FIXTURES "/cromwell/") + name);
  EXPECT_TRUE(file);
  return rows_of(*file, options);
}

// A document with one call, whose members are given.
std::string one_call(const std::string& members, const std::string& fqn = "wf.task") {
  return std::string(
             R"({"id":"w","workflowName":"wf","status":"Succeeded","start":"2026-10-01T00:00:00Z","end":"2026-10-01T01:00:00Z","calls":{")") +
         fqn +
         R"(":[{"executionStatus":"Done","shardIndex":-1,"attempt":1,"start":"2026-10-01T00:10:00Z","end":"2026-10-01T00:20:00Z",)"
         R"("jes":{"googleProject":"p","zone":"z","instanceName":"i","machineType":"custom-1-1024"})" +
         (members.empty() ? "" : ",") + members + "}]}}";
}
Json row_with(const std::string& members, const std::string& fqn = "wf.task", RowOptions options = {}) {
  const Rows result = rows_of(one_call(members, fqn), options);
  EXPECT_EQ(result.rows.size(), 1u) << members;
  return result.rows.empty() ? Json::object() : result.json(0);
}

TEST(Metadata, LifeSciencesWorkflow) {
  const Rows result = rows_of_fixture("papi.json");
  ASSERT_EQ(result.error, "");
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_EQ(result.tally.cached, 1u);
  EXPECT_EQ(result.tally.not_started, 1u);
  EXPECT_EQ(result.tally.sub_workflows, 1u);
  const Json expected = Json::parse(R"({
    "project_id":"lab","zone":"us-central1-b","instance_name":"pipelines-vm-1","preemptible":true,"workflow_name":"genotype",
    "workflow_id":"5d96fd3c-1a89-40ae-8095-c364181cda46","task_call_name":"align","shard":0,"attempt":1,
    "start_time":"2026-10-01T10:00:05.123000Z","end_time":"2026-10-01T10:20:00.000000Z","execution_status":"RetryableFailure","cpu_count":2,
    "mem_total_gb":7.5,"disk_mounts":["/cromwell_root","/mnt/ref"],"disk_total_gb":[100,375],"disk_types":["SSD","LOCAL"],
    "docker_image":"broad/gatk@sha256:aa","call_fqn":"genotype.align","root_workflow_id":"5d96fd3c-1a89-40ae-8095-c364181cda46","backend":"jes",
    "machine_type":"custom-2-7680","mem_total_bytes":8053063680,"end_time_known":true,"cached":false,"return_code":50,
    "job_id":"projects/lab/operations/111","inputs_truncated":false,
    "inputs":[{"key":"bam","type":"file","value":null},{"key":"opts[0]","type":"string","value":"-x"},{"key":"opts[1]","type":"null","value":null},
      {"key":"opts[2]","type":"boolean","value":"true"},{"key":"refs[\"fa\"]","type":"file","value":null},
      {"key":"refs[\"n\"]","type":"number","value":"0.500000"},{"key":"threads","type":"number","value":"2.000000"}]})");
  EXPECT_EQ(result.json(0), expected) << result.json(0).dump(1);
  const Json second = result.json(1);
  EXPECT_EQ(second["start_time"], "2026-10-01T10:20:01.000000Z");  // was +02:00
  EXPECT_EQ(second["zone"], "us-central1-c");
  EXPECT_EQ(second["vm_cost_per_hour"], 0.1234);
  EXPECT_EQ(second["vm_start_time"], "2026-10-01T10:19:30.000000Z");
  const Json inner = result.json(2);
  EXPECT_EQ(inner["workflow_id"], "1f0bda24-6f0c-4f9e-9c0a-0a5b5b5c9f11");
  EXPECT_EQ(inner["workflow_name"], "joint");
  EXPECT_EQ(inner["root_workflow_id"], "5d96fd3c-1a89-40ae-8095-c364181cda46");
  EXPECT_EQ(inner["task_call_name"], "import");
  EXPECT_EQ(inner["shard"], -1);
  EXPECT_EQ(inner["mem_total_gb"], 26);
  EXPECT_FALSE(inner.contains("vm_cost_per_hour"));  // −1: the look-up failed
  EXPECT_FALSE(inner.contains("inputs"));
  EXPECT_EQ(inner["inputs_size_bytes"], 0);
}

TEST(Metadata, GcpBatchWorkflow) {
  const Rows result = rows_of_fixture("batch.json");
  ASSERT_EQ(result.rows.size(), 2u);
  const Json sum = result.json(0);
  EXPECT_EQ(sum["backend"], "gcpBatch");
  EXPECT_EQ(sum["zone"], "");
  EXPECT_EQ(sum["instance_name"], "");
  EXPECT_EQ(sum["project_id"], "lab");
  EXPECT_EQ(sum["preemptible"], true);
  EXPECT_EQ(sum["cpu_count"], 4);     // 3 → even
  EXPECT_EQ(sum["mem_total_gb"], 4);  // N2: one GiB a CPU at least
  EXPECT_FALSE(sum.contains("machine_type"));
  EXPECT_EQ(sum["disk_mounts"], Json::parse(R"(["/mnt/disks/cromwell_root","/mnt/big"])"));
  EXPECT_EQ(sum["gpu_count"], 1);
  EXPECT_EQ(sum["gpu_type"], "nvidia-tesla-t4");
  const Json plot = result.json(1);
  EXPECT_EQ(plot["machine_type"], "e2-standard-2");
  EXPECT_EQ(plot["cpu_count"], 2);
  EXPECT_EQ(plot["mem_total_gb"], 8);
  EXPECT_FALSE(plot.contains("disk_mounts"));
  EXPECT_EQ(plot["docker_image"], "");
}

TEST(Metadata, AbortedWorkflowAndOtherBackends) {
  const Rows plain = rows_of_fixture("aborted.json");
  ASSERT_EQ(plain.rows.size(), 2u);
  EXPECT_EQ(plain.tally.not_started, 1u);
  EXPECT_EQ(plain.tally.other_backend, 1u);
  EXPECT_FALSE(plain.rows[0].end_time_known);
  EXPECT_EQ(plain.json(0)["end_time"], "2026-10-03T09:00:00.000000Z");    // the workflow's
  EXPECT_EQ(plain.json(1)["start_time"], "2026-10-03T08:00:30.000000Z");  // the workflow's
  EXPECT_EQ(plain.json(1)["cpu_count"], 0);

  const Rows all =
      rows_of_fixture("aborted.json", {.allow_running = false, .include_cached = true, .all_backends = true});
  ASSERT_EQ(all.rows.size(), 4u);
  const MetadataRow* waiting = all.find("slow.wait");
  ASSERT_NE(waiting, nullptr);
  EXPECT_TRUE(waiting->cached);
  EXPECT_EQ(waiting->execution_status, "Unstartable");
  const MetadataRow* local = all.find("slow.local");
  ASSERT_NE(local, nullptr);
  EXPECT_EQ(local->backend, "Local");
  EXPECT_EQ(local->cpu_count, 8);
  EXPECT_EQ(local->memory_bytes, 512 << 20);
  EXPECT_EQ(local->zone, "");
}

TEST(Metadata, SubWorkflowsByIdAreHandedOn) {
  const Rows result = rows_of_fixture("sub_by_id.json");
  EXPECT_TRUE(result.rows.empty());
  EXPECT_EQ(result.sub_ids, std::vector<std::string>{"9d3a8a7e-2f27-4a5e-8f3d-7c2b64a1e001"});
}

TEST(Metadata, CallNames) {
  EXPECT_EQ(row_with("", "wf.task")["task_call_name"], "task");
  EXPECT_EQ(row_with("", "task")["task_call_name"], "task");
  EXPECT_EQ(row_with("", "a.b.c-d_e f")["task_call_name"], "c-d_e f");
  EXPECT_EQ(row_with("", "a.b.c-d_e f")["call_fqn"], "a.b.c-d_e f");
  EXPECT_EQ(row_with("", "wf.")["task_call_name"], "");
}

TEST(Metadata, StatusesThatHaveRows) {
  const auto count = [](const std::string& status, RowOptions options = {}) {
    return rows_of(one_call(std::string("\"executionStatus\":\"") + status + "\""), options)
        .rows.size();  // the later member counts
  };
  for (const char* status : {"Done", "Failed", "RetryableFailure", "Aborted"}) EXPECT_EQ(count(status), 1u) << status;
  for (const char* status : {"NotStarted", "WaitingForQueueSpace", "QueuedInCromwell", "Starting", "Running",
                             "Aborting", "Bypassed", "Unstartable", "", "Weird"})
    EXPECT_EQ(count(status), 0u) << status;
  EXPECT_EQ(count("Running", {.allow_running = true}), 1u);
  EXPECT_EQ(count("Aborting", {.allow_running = true}), 1u);
  for (const char* status : {"NotStarted", "Starting", "Bypassed", "Unstartable"})
    EXPECT_EQ(count(status, {.include_cached = true}), 1u) << status;
  EXPECT_EQ(rows_of(one_call(R"("callCaching":{"hit":true})")).tally.cached, 1u);
  EXPECT_EQ(row_with(R"("callCaching":{"hit":true})", "wf.t", {.include_cached = true})["cached"], true);
}

TEST(Metadata, OneBadCallLeavesTheOthers) {
  const std::string text = R"({"id":"w","calls":{"a.b":[
    {"executionStatus":"Done","start":"2026-10-01T00:00:00Z","shardIndex":"x","attempt":1,"jes":{}},
    {"executionStatus":"Done","start":"2026-10-01T00:00:00Z","shardIndex":1,"attempt":[],"jes":{}},
    7, {"executionStatus":"Done","start":"2026-10-01T00:00:00Z","shardIndex":2.0,"attempt":"3","jes":{}}], "c":{}, "d":null}})";
  const Rows result = rows_of(text);
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0].shard, 2);
  EXPECT_EQ(result.rows[0].attempt, 3);
  EXPECT_EQ(result.tally.bad, 5u);
}

// A workflow of its own call and, inside it, as many sub-workflows.
std::string nested(int levels) {
  const std::string own = R"("t.own":[{"executionStatus":"Done","start":"2026-10-01T00:00:00Z","attempt":1,"jes":{}}])";
  std::string text = R"({"id":"leaf","calls":{)" + own + "}}";
  for (int i = 0; i < levels; ++i)
    text =
        std::string(R"({"id":"w)").append(std::to_string(i)).append(R"(","calls":{"t.sub":[{"subWorkflowMetadata":)") +
        text + "}]," + own + "}}";
  return text;
}

TEST(Metadata, SixtyFourLevelsOfSubWorkflows) {
  const Rows all = rows_of(nested(64));
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.rows.size(), 65u);
  EXPECT_EQ(all.tally.bad, 0u);
  // One more is a bad call; the rows of the others are there.
  const Rows most = rows_of(nested(70));
  EXPECT_EQ(most.error, "");
  EXPECT_EQ(most.rows.size(), 65u);
  EXPECT_EQ(most.tally.bad, 1u);
  EXPECT_EQ(most.rows.back().workflow_id, "w69");
}

TEST(Metadata, InputsThatAreNestedTooDeepAreCut) {
  const std::string deep = std::string(200, '[') + "1" + std::string(200, ']');
  const Json row = row_with(R"("inputs":{"a":1,"deep":)" + deep + R"(,"z":)" + std::string(60, '[') + "2" +
                            std::string(60, ']') + "}");
  ASSERT_EQ(row["inputs"].size(), 2u);
  EXPECT_EQ(row["inputs"][0]["key"], "a");
  EXPECT_EQ(row["inputs"][1]["value"], "2.000000");
  EXPECT_EQ(row["inputs_truncated"], true);
}

TEST(Metadata, Times) {
  const Json missing_end = row_with(R"("end":null,"vmEndTime":"2026-10-01T00:30:00Z")");
  for (const char* time : {"end_time", "vm_end_time"}) EXPECT_EQ(missing_end[time], "2026-10-01T00:30:00.000000Z");
  EXPECT_EQ(missing_end["end_time_known"], false);
  EXPECT_EQ(row_with(R"("start":null,"vmStartTime":"2026-10-01T00:11:00Z")")["start_time"],
            "2026-10-01T00:11:00.000000Z");
  EXPECT_EQ(row_with(R"("start":null)")["start_time"], "2026-10-01T00:20:00.000000Z");  // its end
  EXPECT_EQ(row_with(R"("start":"yesterday")")["start_time"], "2026-10-01T00:20:00.000000Z");
  EXPECT_EQ(row_with(R"("start":"2026-10-01T02:10:00.5+05:30")")["start_time"], "2026-09-30T20:40:00.500000Z");
  const Rows none = rows_of(R"({"id":"w","calls":{"a":[{"executionStatus":"Done","jes":{}}]}})");
  EXPECT_TRUE(none.rows.empty());
  EXPECT_EQ(none.tally.no_time, 1u);
  const Rows only_start =
      rows_of(R"({"id":"w","calls":{"a":[{"executionStatus":"Done","jes":{},"start":"2026-10-01T00:00:00Z"}]}})");
  ASSERT_EQ(only_start.rows.size(), 1u);
  EXPECT_EQ(only_start.rows[0].end_ns, only_start.rows[0].start_ns);
  EXPECT_FALSE(only_start.rows[0].end_time_known);
}

TEST(Metadata, Machines) {
  const auto jes = [](const std::string& type, const std::string& attributes) {
    return row_with(std::string(R"("jes":{"machineType":")") + type + R"("},"runtimeAttributes":{)" + attributes + "}");
  };
  EXPECT_EQ(jes("n2-custom-8-16384", "")["cpu_count"], 8);
  EXPECT_EQ(jes("n2-custom-8-16384", "")["mem_total_gb"], 16);
  const Json unknown = jes("zz-strange-9", R"("cpu":"6","memory":"512 MB")");
  EXPECT_EQ(unknown["cpu_count"], 6);
  EXPECT_EQ(unknown["mem_total_gb"], 0.5);
  EXPECT_EQ(unknown["machine_type"], "zz-strange-9");
  const Json numbers = jes("", R"("cpu":2,"memory":1073741824)");
  EXPECT_EQ(numbers["cpu_count"], 2);
  EXPECT_EQ(numbers["mem_total_gb"], 1);
  const Json nothing = jes("", "");
  EXPECT_EQ(nothing["mem_total_gb"], 0);
  EXPECT_FALSE(nothing.contains("mem_total_bytes"));
  const Json batch = row_with(
      R"("jes":null,"gcpBatch":{"machineType":"n2-standard-4","zone":"projects/1/zones/us-x1-a","instanceName":"vm"})");
  EXPECT_EQ(batch["cpu_count"], 4);
  EXPECT_EQ(batch["zone"], "us-x1-a");
  EXPECT_EQ(batch["instance_name"], "vm");
}

TEST(Metadata, Disks) {
  const auto names = [](const std::string& text) {
    std::string out;
    for (const Disk& disk : parse_disks(text, "/cromwell_root"))
      out.append(disk.mount)
          .append("=")
          .append(std::to_string(static_cast<int>(disk.size_gb)))
          .append(disk.type)
          .append(";");
    return out;
  };
  EXPECT_EQ(names("local-disk 10 SSD,/mnt/a 20 HDD"), "/cromwell_root=10SSD;/mnt/a=20HDD;");
  EXPECT_EQ(names("local-disk 10 SSD, /mnt/a  20  HDD"), "/cromwell_root=10SSD;/mnt/a=20HDD;");
  EXPECT_EQ(names("local-disk 1 LOCAL"), "/cromwell_root=375LOCAL;");
  EXPECT_EQ(names("local-disk 376 LOCAL"), "/cromwell_root=750LOCAL;");
  EXPECT_EQ(names("local-disk 0 LOCAL"), "/cromwell_root=375LOCAL;");
  EXPECT_EQ(names("local-disk SSD,/a x SSD,/b 5 HDD"), "/b=5HDD;");
  EXPECT_EQ(names(""), "");
  EXPECT_EQ(names(" , ,"), "");
}

TEST(Metadata, Preemptible) {
  EXPECT_EQ(row_with(R"("preemptible":true)")["preemptible"], true);
  EXPECT_EQ(row_with(R"("preemptible":"true")")["preemptible"], true);
  EXPECT_EQ(row_with(R"("preemptible":false,"runtimeAttributes":{"preemptible":"3"})")["preemptible"], false);
  EXPECT_EQ(row_with(R"("runtimeAttributes":{"preemptible":"3"})")["preemptible"], true);  // the first of three
  EXPECT_EQ(row_with(R"("runtimeAttributes":{"preemptible":0})")["preemptible"], false);
  EXPECT_EQ(row_with("")["preemptible"], false);
}

TEST(Metadata, OrderOfMembersDoesNotMatter) {
  const std::string late =
      R"({"calls":{"o.s":[{"subWorkflowMetadata":{"calls":{"s.t":[{"jes":{},"executionStatus":"Done"}]},
    "start":"2026-10-01T00:00:00Z","workflowName":"inner","id":"in"},"executionStatus":"Done"}],
    "o.t":[{"jes":{},"executionStatus":"Done"}]},"start":"2026-10-02T00:00:00Z","workflowName":"outer","id":"out"})";
  const Rows result = rows_of(late);
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].workflow_id + result.rows[0].workflow_name, "ininner");
  EXPECT_EQ(result.rows[1].workflow_id + result.rows[1].workflow_name, "outouter");
  EXPECT_EQ(result.json(0)["start_time"], "2026-10-01T00:00:00.000000Z");
}

TEST(Metadata, OfMembersThatStandTwiceTheLastCounts) {
  const std::string call = R"({"jes":{},"executionStatus":"Done","start":"2026-10-01T00:00:00Z"})";
  const std::string sub = std::string(R"({"id":"ID","calls":{"s.t":[)") + call + "]}}";
  const auto with_id = [&](const char* id) { return std::string(sub).replace(sub.find("ID"), 2, id); };
  // The first of two subWorkflowMetadata, of two lists of the same call, and of two "calls".
  const std::string text = R"({"id":"first","id":"w","calls":{"x":[{"subWorkflowMetadata":)" + with_id("gone") +
                           R"(}]},"calls":{"a":[)" + call + "," + call + R"(],"b":[{"subWorkflowMetadata":)" +
                           with_id("gone1") + R"(,"subWorkflowMetadata":)" + with_id("kept") + R"(}],"a":[)" + call +
                           "]}}";
  const Rows result = rows_of(text);
  ASSERT_EQ(result.error, "");
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].workflow_id, "kept");
  EXPECT_EQ(result.rows[1].workflow_id, "w");
  EXPECT_EQ(row_with(R"("jes":{"zone":"y"})")["instance_name"], "");  // nothing of the first object is left
}

TEST(Metadata, BrokenDocuments) {
  EXPECT_EQ(rows_of(R"({"id":"w","calls":{"a":[{)").error.substr(0, 22), "broken JSON at byte 25");
  EXPECT_NE(rows_of("[]").error, "");
  EXPECT_NE(rows_of("").error, "");
  // The rows before the break are still found, for --stream.
  const Rows cut =
      rows_of(R"({"id":"w","calls":{"a":[{"jes":{},"executionStatus":"Done","start":"2026-10-01T00:00:00Z"},{"jes")");
  EXPECT_NE(cut.error, "");
  ASSERT_EQ(cut.rows.size(), 1u);
  EXPECT_EQ(cut.rows[0].workflow_id, "w");
}

TEST(Metadata, InvalidUtf8BecomesReplacementCharacters) {
  const Json row = row_with("\"inputs\":{\"a\":\"x\xFFy\"}");
  EXPECT_EQ(row["inputs"][0]["value"], "x\xEF\xBF\xBDy");
}

TEST(Metadata, ReadsGzipAndCountsItsDamage) {
  const std::string text = one_call("");
  std::string packed(compressBound(text.size()) + 32, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_EQ(rows_of(packed).rows.size(), 1u);
  EXPECT_NE(rows_of(packed.substr(0, packed.size() / 2)).error, "");
  packed[packed.size() / 2] = static_cast<char>(~packed[packed.size() / 2]);
  EXPECT_NE(rows_of(packed.substr(0, packed.size() - 9)).error, "");
}

TEST(Metadata, InsertIds) {
  MetadataRow row;
  row.workflow_id = "w", row.call_fqn = "a.b", row.shard = -1, row.attempt = 1, row.execution_status = "Done";
  const std::string id = row_insert_id(row);
  EXPECT_EQ(id.size(), 34u);
  EXPECT_TRUE(id.starts_with("c-"));
  row.execution_status = "Failed";
  EXPECT_EQ(row_insert_id(row), id);
  row.execution_status = "Running";
  EXPECT_EQ(row_insert_id(row), id + "-Running");
  row.execution_status = "Done", row.attempt = 2;
  EXPECT_NE(row_insert_id(row), id);
}

TEST(Metadata, RowsAreCutToTheirLimit) {
  MetadataRow row;
  for (int i = 0; i < 1000; ++i)
    row.inputs.push_back({std::to_string(i), InputType::string, std::string(1000, 'x'), {}});
  const std::string text = row_json(row, 100'000);
  EXPECT_LE(text.size(), 100'000u);
  EXPECT_GT(text.size(), 90'000u);
  EXPECT_EQ(Json::parse(text)["inputs_truncated"], true);
  EXPECT_EQ(Json::parse(row_json(row))["inputs_truncated"], false);
}

}  // namespace
}  // namespace tacho
