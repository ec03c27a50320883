#include <gtest/gtest.h>
#include <sys/stat.h>
#include <utime.h>

#include <filesystem>
#include <map>

#include "query/guard.h"
#include "query/refresh.h"
#include "query/run_functions.h"
#include "query/run_list.h"
#include "query/sample_file.h"
#include "query/samples.h"
#include "query/schema.h"
#include "query/statements.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr int kNewDatabase = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

// Long ago, so that nobody has to wait until a change shows.
void put_run_file(const TempDir& store, const std::string& name, const std::string& more, int64_t changed_s = 1000) {
  std::filesystem::create_directories(store / name);
  spill(store / name + "/run.json",
        R"({"id":")" + name + R"(","mode":"run","state":"finished","outcome":{"state":"finished"})" + more + "}");
  const utimbuf times{changed_s, changed_s};
  ASSERT_EQ(::utime((store / name + "/run.json").c_str(), &times), 0);
}

std::string one_text(const Database& database, const std::string& sql) {
  Prepared statement = database.prepare(sql);
  if (!statement || statement.step() != SQLITE_ROW) return "(none)";
  return std::string(statement.text(0));
}

struct Tables {
  explicit Tables(const TempDir& dir) : store(dir.path()) {
    database = std::move(*Database::open("", kNewDatabase));
    add_run_functions(database, functions);
    EXPECT_TRUE(make_tables(database, store));
    EXPECT_TRUE(add_samples(database, store));
  }
  Refreshed fill(uint32_t parts) { return *refresh(database, store, parts, false); }
  std::string store;
  RunFunctions functions{store};
  Database database;
};

TEST(Query, ASampleFileGivesTheCellsThatItHas) {
  const TempDir dir;
  spill(dir / "m.csv",
        "timestamp,system_load1,other,process_utime\n"
        "100.5,3,\"a,b\",\n"
        "101,word,x,0.25\n"
        "broken,1,1,1\n"
        "102,1\n"
        "103.000,-4,,1e3\n"
        "104,1,1,1");  // without an end: still being written
  const std::vector<std::string_view> names{"timestamp", "process_utime", "system_load1", "nowhere"};
  SampleFile file(names);
  ASSERT_TRUE(file.open(dir / "m.csv"));
  ASSERT_TRUE(file.next());
  EXPECT_EQ(file.cell(0), Cell(100.5));
  EXPECT_EQ(file.cell(1), Cell());
  EXPECT_EQ(file.cell(2), Cell(int64_t{3}));
  EXPECT_EQ(file.cell(3), Cell());
  ASSERT_TRUE(file.next());
  EXPECT_EQ(file.cell(1), Cell(0.25));
  EXPECT_EQ(file.cell(2), Cell());
  ASSERT_TRUE(file.next());
  EXPECT_EQ(file.cell(0), Cell(103.0));
  EXPECT_EQ(file.cell(1), Cell(1000.0));
  EXPECT_EQ(file.cell(2), Cell(int64_t{-4}));
  EXPECT_FALSE(file.next());
  EXPECT_FALSE(file.open(dir / "none.csv"));
  EXPECT_FALSE(file.next());
}

TEST(Query, WhatIsNoPlainFileIsNotWaitedFor) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "m.csv").c_str(), 0600), 0);
  const std::vector<std::string_view> names{"timestamp"};
  SampleFile file(names);
  EXPECT_FALSE(file.open(dir / "m.csv"));
  EXPECT_FALSE(file.open("/dev/zero"));
}

TEST(Query, NamesThatLeaveTheStoreAreNoRuns) {
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "/etc"}) EXPECT_FALSE(is_run_name(name)) << name;
  EXPECT_FALSE(is_run_name(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_run_name("it's \"a\" run; DROP TABLE runs"));
}

TEST(Query, NoPeakIsBelowZero) {
  const TempDir dir;
  Tables tables(dir);
  put_run_file(dir, "a", R"(,"statistics":{"process_memory_mib":{"max":0}},"totals":{"memory_peak_bytes":-1})");
  ASSERT_EQ(tables.fill(kRunsPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT memory_peak_bytes FROM runs"), "0");
}

TEST(Query, TablesFollowTheStore) {
  const TempDir dir;
  Tables tables(dir);
  put_run_file(dir, "a", R"(,"metadata":{"job_name":"one"},"totals":{"memory_peak_bytes":5})");
  put_run_file(dir, "b", "");
  put_run_file(dir, "torn", "");
  spill(dir / "torn" + "/run.json", "{\"id\": \"to");
  std::filesystem::create_directory(dir / "empty");
  ASSERT_EQ(tables.fill(kRunsPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT group_concat(run) FROM runs"), "a,b");
  EXPECT_EQ(one_text(tables.database, "SELECT memory_peak_bytes FROM runs WHERE job_name = 'one'"), "5");
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM runs WHERE run = 'b' AND job_name IS NULL"), "1");

  // Neither size nor time: not read again. The time alone is enough.
  put_run_file(dir, "a", R"(,"metadata":{"job_name":"two"},"totals":{"memory_peak_bytes":6})");
  ASSERT_EQ(tables.fill(kRunsPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT job_name FROM runs WHERE run = 'a'"), "one");
  put_run_file(dir, "a", R"(,"metadata":{"job_name":"two"},"totals":{"memory_peak_bytes":6})", 2000);
  std::filesystem::remove_all(dir / "b");
  ASSERT_EQ(tables.fill(kRunsPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT group_concat(job_name) FROM runs"), "two");
}

TEST(Query, ATableIsFilledWhenItIsAskedForAndKept) {
  const TempDir dir;
  Tables tables(dir);
  put_run_file(dir, "a",
               R"(,"metadata":{"tags":["k=v=w","plain"]},"statistics":{"process_cpu_usage":{"mean":1.5,"max":2}})");
  ASSERT_EQ(tables.fill(kRunsPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM columns"), "0");
  ASSERT_EQ(tables.fill(kColumnsPart | kTagsPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT name || unit || mean || max || (min IS NULL) FROM columns"),
            "process_cpu_usagecores1.52.01");
  EXPECT_EQ(one_text(tables.database, "SELECT group_concat(key || ':' || ifnull(value, 'NULL')) FROM tags"),
            "k:v=w,plain:NULL");
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM runs"), "1");
}

TEST(Query, OfAProcessTheLastLineCounts) {
  const TempDir dir;
  Tables tables(dir);
  put_run_file(dir, "a", "");
  spill(dir / "a" + "/processes.csv",
        "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,"
        "gpu_vram_mib,exit\n"
        "7,1,sh,\"sh -c \"\"x\"\"\",10.5,,1,0.1,2,0,0,,\n"
        "7,1,sh,\"sh -c \"\"x\"\"\",10.5,12.5,1,0.7,2.5,4,8,,signal 9\n"
        ",,cc,,11,12,40,9,1,,,,\n");
  ASSERT_EQ(tables.fill(kProcessesPart), Refreshed::done);
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM processes"), "2");
  EXPECT_EQ(one_text(tables.database, "SELECT command || cpu_s || exit FROM processes WHERE pid = 7"),
            "sh -c \"x\"0.7signal 9");
  EXPECT_EQ(one_text(tables.database, "SELECT count || ifnull(pid, 'NULL') FROM processes WHERE name = 'cc'"),
            "40NULL");
}

TEST(Query, SamplesOpenOnlyWhatIsAskedFor) {
  const TempDir dir;
  Tables tables(dir);
  for (const std::string name : {"a", "b", "it's"}) {
    put_run_file(dir, name, "");
    spill(dir / name + "/metrics.csv", "timestamp,system_load1\n1,0.5\n2,\n");
  }
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) || ':' || count(system_load1) FROM samples"), "6:3");
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM samples WHERE run IN ('a', 'it''s', '../a', 'none')"), "4");
  EXPECT_NE(one_text(tables.database, "EXPLAIN QUERY PLAN SELECT * FROM samples WHERE run = 'a'"), "(none)");
  EXPECT_EQ(one_text(tables.database, "SELECT sum(timestamp) FROM samples WHERE run = 'b'"), "3");
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM samples WHERE process_gpu_usage IS NULL AND run = 'b'"),
            "2");
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM samples WHERE run = 'B' COLLATE NOCASE"), "2");
}

TEST(Query, SamplesMayBeReadUnderGuard) {
  const TempDir dir;
  Tables tables(dir);
  uint32_t parts = 0;
  guard(tables.database, &parts);
  EXPECT_EQ(one_text(tables.database, "SELECT count(*) FROM samples"), "0");
  EXPECT_EQ(one_text(tables.database, R"(SELECT group_concat(value) FROM json_each('["a", 2]'))"), "a,2");
  EXPECT_EQ(one_text(tables.database, R"(SELECT count(*) FROM json_tree('{"a": [1, 2]}'))"), "4");
  EXPECT_EQ(parts, 0U);
}

TEST(Query, NothingButReadingIsAllowed) {
  const TempDir dir;
  Tables tables(dir);
  uint32_t parts = 0;
  guard(tables.database, &parts);
  for (const std::string sql : {"DROP TABLE runs",
                                "DELETE FROM runs",
                                "INSERT INTO tags VALUES (1,2,3)",
                                "UPDATE runs SET team = 1",
                                "ATTACH '/tmp/x.db' AS x",
                                "PRAGMA user_version",
                                "SELECT * FROM pragma_table_info('runs')",
                                "VACUUM",
                                "VACUUM INTO '/tmp/tacho-query-out.db'",
                                "CREATE TABLE t(x)",
                                "CREATE TEMP TABLE t(x)",
                                "CREATE VIEW v AS SELECT 1",
                                "BEGIN",
                                "SAVEPOINT s",
                                "REINDEX",
                                "ANALYZE",
                                "DETACH main",
                                "CREATE VIRTUAL TABLE t USING samples",
                                "SELECT load_extension('x')",
                                "SELECT readfile('/etc/passwd')",
                                "SELECT writefile('/tmp/x', 'y')",
                                "INSERT INTO samples(run) VALUES ('a')",
                                "SELECT 1; DROP TABLE runs"}) {
    EXPECT_TRUE(check_statements(tables.database, sql).has_value()) << sql;
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/tacho-query-out.db"));
  parts = 0;
  EXPECT_FALSE(check_statements(tables.database, "SELECT 1 -- none; SELECT\n; /* x */ SELECT count(*) FROM tags;"));
  EXPECT_EQ(parts, kTagsPart);
}

TEST(Query, ErrorsSayWhere) {
  const TempDir dir;
  Tables tables(dir);
  const auto error = check_statements(tables.database, "SELECT 1;\nSELECT nowhere FROM runs");
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message(),
            "SQL error: no such column: nowhere (at position 18, line 2, column 8: nowhere FROM runs)");
}

TEST(Query, EveryColumnIsNamedOnce) {
  for (const StoredTable& table : stored_tables()) {
    std::map<std::string_view, int> count;
    for (const TableColumn& column : table.columns) EXPECT_EQ(++count[column.name], 1) << column.name;
    EXPECT_EQ(table.columns[0].name, "run");
  }
}

}  // namespace
}  // namespace tacho
