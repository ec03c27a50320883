#include "katib/db/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "support/katib_store.h"
#include "katib/db/postgres.h"
#include "katib/db/sqlite.h"
#include "katib/db/store_place.h"

namespace tacho {
namespace {

using Strings = std::vector<std::string>;

// Whatever the store is, it behaves like this.
void behaves(ObservationStore& store) {
  EXPECT_TRUE(store.probe());
  {
    auto batch = store.begin("t1");
    ASSERT_TRUE(batch);
    ASSERT_TRUE((*batch)->add(us("2026-11-15T09:30:01Z"), "loss", "0.5"));
    ASSERT_TRUE(
        (*batch)->add(us("2026-11-15T09:30:00.000001Z"), "loss", "O'Brien; DROP TABLE observation_logs; \\N \t\n%s €"));
    ASSERT_TRUE((*batch)->add(us("2026-11-15T09:30:01Z"), "acc", ""));
    ASSERT_TRUE((*batch)->add(us("0001-01-01T00:00:00Z"), "loss", "unavailable"));
    ASSERT_TRUE((*batch)->add(us("2026-11-15T09:30:01Z"), "loss", "0.4"));
    EXPECT_EQ(read_all(store, {"t1", "", {}, {}}), Strings{});
    ASSERT_TRUE((*batch)->commit());
  }
  ASSERT_TRUE(store_one(store, "t2", "2026-11-15T09:30:01Z", "loss", "9"));
  const std::string odd = "2026-11-15T09:30:00.000001Z loss O'Brien; DROP TABLE observation_logs; \\N \t\n%s €";
  EXPECT_EQ(read_all(store, {"t1", "", {}, {}}),
            (Strings{"0001-01-01T00:00:00Z loss unavailable", odd, "2026-11-15T09:30:01Z loss 0.5",
                     "2026-11-15T09:30:01Z acc ", "2026-11-15T09:30:01Z loss 0.4"}));
  EXPECT_EQ(read_all(store, {"t1", "acc", {}, {}}), Strings{"2026-11-15T09:30:01Z acc "});
  // Both ends are inclusive.
  const int64_t early = us("2026-11-15T09:30:00.000001Z"), late = us("2026-11-15T09:30:01Z");
  EXPECT_EQ(read_all(store, {"t1", "loss", early, early}), Strings{odd});
  EXPECT_EQ(read_all(store, {"t1", "loss", early + 1, late}).size(), 2u);
  EXPECT_EQ(read_all(store, {"t1", "loss", {}, late - 1}).size(), 2u);
  EXPECT_EQ(read_all(store, {"t1", "loss", us("0000-01-01T00:00:00Z"), us("0000-12-31T00:00:00Z")}), Strings{});
  EXPECT_EQ(read_all(store, {"t", "", {}, {}}), Strings{});
  {
    auto forgotten = store.begin("t1");
    ASSERT_TRUE(forgotten);
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE((*forgotten)->add(late, "gone", std::string(40, 'x')));
  }
  EXPECT_EQ(read_all(store, {"t1", "gone", {}, {}}), Strings{});
  ASSERT_TRUE(store.remove("t1"));
  EXPECT_EQ(read_all(store, {"t1", "", {}, {}}), Strings{});
  EXPECT_EQ(read_all(store, {"t2", "", {}, {}}), Strings{"2026-11-15T09:30:01Z loss 9"});
}

TEST(SqliteStore, Behaves) {
  TempDir folder;
  {
    const auto store = open_sqlite_store(folder / "katib.db", TableInit::create);
    ASSERT_TRUE(store) << store.error().message();
    behaves(**store);
    ASSERT_TRUE(store_one(**store, "t3", "2026-11-15T09:30:01Z", "loss", std::string("a\0b", 3)));
  }
  const auto again = open_sqlite_store(folder / "katib.db", TableInit::read_only);
  ASSERT_TRUE(again);
  EXPECT_EQ(read_all(**again, {"t3", "", {}, {}}), Strings{std::string("2026-11-15T09:30:01Z loss a\0b", 29)});
}

TEST(SqliteStore, HasTheTableTheServiceHasElsewhere) {
  TempDir folder;
  const auto store = open_sqlite_store(folder / "katib.db", TableInit::create);
  ASSERT_TRUE(store && store_one(**store, "t", "2026-11-15T09:30:01.5Z", "loss", "1"));
  const auto connection = SqliteConnection::open(folder / "katib.db", false);
  auto rows = (*connection)->prepare("SELECT trial_name, time, metric_name, value, id FROM observation_logs");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->step(), SQLITE_ROW);
  EXPECT_EQ(rows->text(1), "2026-11-15 09:30:01.500000");
  auto plan = (*connection)
                  ->prepare(
                      "EXPLAIN QUERY PLAN SELECT value FROM observation_logs WHERE trial_name='t' AND metric_name='m' "
                      "AND time > 'x'");
  ASSERT_EQ(plan->step(), SQLITE_ROW);
  EXPECT_NE(plan->text(3).find("observation_logs_by_metric"), std::string_view::npos) << plan->text(3);
}

TEST(SqliteStore, FilesThatAreNoneAreNamedWithWhatToDo) {
  TempDir folder;
  const auto refused = [&](const std::string& file, TableInit init) {
    const auto store = open_sqlite_store(file, init);
    return store ? std::string("opened") : store.error().message();
  };
  EXPECT_NE(refused(folder / "no/such/folder.db", TableInit::create).find("does the folder exist"), std::string::npos);
  spill(folder / "text", std::string(4096, 'x'));
  EXPECT_NE(refused(folder / "text", TableInit::create).find("no SQLite database"), std::string::npos);
  EXPECT_NE(refused(folder / "missing.db", TableInit::read_only).find("missing.db"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "missing.db"));
  ASSERT_TRUE((*SqliteConnection::open(folder / "other.db", true))->execute("CREATE TABLE observation_logs (a, b)"));
  EXPECT_NE(refused(folder / "other.db", TableInit::check).find("no table observation_logs as this service needs it"),
            std::string::npos);
}

TEST(SqliteStore, AFileThatIsTakenAwayIsAnErrorAndNotALoss) {
  TempDir folder;
  const auto store = open_sqlite_store(folder / "katib.db", TableInit::create);
  ASSERT_TRUE(store && (*store)->probe());
  std::filesystem::remove(folder / "katib.db");
  EXPECT_FALSE((*store)->probe());
  const Status status = store_one(**store, "t", "2026-11-15T09:30:01Z", "loss", "1");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("moved or deleted"), std::string::npos);
}

TEST(SqliteStore, AFullDiskLeavesNoneOfTheReport) {
  TempDir folder;
  const auto store = open_sqlite_store(folder / "katib.db", TableInit::create);
  ASSERT_TRUE(store && store_one(**store, "t", "2026-11-15T09:30:00Z", "loss", "1"));
  struct rlimit_guard {
    rlimit_guard() {
      ::signal(SIGXFSZ, SIG_IGN);
      ::getrlimit(RLIMIT_FSIZE, &before);
      const rlimit small{256 * 1024, before.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~rlimit_guard() { ::setrlimit(RLIMIT_FSIZE, &before); }
    rlimit before{};
  };
  {
    const rlimit_guard guard;
    auto batch = (*store)->begin("t");
    ASSERT_TRUE(batch);
    Status status = ok();
    for (int i = 0; i < 100'000 && status; ++i)
      status = (*batch)->add(us("2026-11-15T09:30:01Z"), "loss", std::string(100, 'x'));
    if (status) status = (*batch)->commit();
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().code, Code::invalid) << status.error().message();
  }
  EXPECT_EQ(read_all(**store, {"t", "", {}, {}}).size(), 1u);
  EXPECT_TRUE(store_one(**store, "t", "2026-11-15T09:30:02Z", "loss", "2"));
}

TEST(PostgresStore, BehavesAndComesBackAfterARestart) {
  PostgresServer server;
  if (!server.running()) GTEST_SKIP() << "no PostgreSQL server here";
  const auto place = find_store(server.url());
  ASSERT_TRUE(place);
  const auto store = open_store(*place, false);
  ASSERT_TRUE(store) << store.error().message();
  behaves(**store);
  const Status nul = store_one(**store, "t", "2026-11-15T09:30:01Z", "loss", std::string("a\0b", 3));
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().code, Code::invalid);
  const Status longer = store_one(**store, "t", "2026-11-15T09:30:01Z", std::string(256, 'm'), "1");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::invalid) << longer.error().message();
  EXPECT_FALSE((*store)->remove(std::string("t2\0x", 4)));
  EXPECT_EQ(read_all(**store, {"t2", "", {}, {}}).size(), 1u);

  ASSERT_TRUE(server.stop());
  const Status away = (*store)->probe();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::io) << away.error().message();
  EXPECT_FALSE((*store)->begin("t"));
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(store_one(**store, "t4", "2026-11-15T09:30:01Z", "loss", "1"));
  // Idle connections that the server closes are replaced without a word.
  ASSERT_TRUE(server.stop() && server.start());
  const Status stored = store_one(**store, "t4", "2026-11-15T09:30:02Z", "loss", "2");
  EXPECT_TRUE(stored) << stored.error().message();
  ASSERT_TRUE(server.stop() && server.start());
  EXPECT_EQ(read_all(**store, {"t4", "", {}, {}}).size(), 2u);
}

TEST(PostgresStore, ATableOfSomebodyElseIsEnough) {
  PostgresServer server;
  if (!server.running()) GTEST_SKIP() << "no PostgreSQL server here";
  const auto owner = PostgresConnection::open(find_store(server.url())->postgres);
  ASSERT_TRUE(owner) << owner.error().message();
  for (const char* sql :
       {"CREATE TABLE observation_logs (trial_name VARCHAR(255) NOT NULL, id serial PRIMARY KEY, time TIMESTAMP(6), "
        "metric_name VARCHAR(255) NOT NULL, value TEXT NOT NULL)",
        "CREATE ROLE guest LOGIN"}) {
    ASSERT_TRUE((*owner)->run(sql, {}));
  }
  const auto place = find_store(server.url("guest"));
  EXPECT_FALSE(open_store(*place, false));
  ASSERT_TRUE((*owner)->run("GRANT SELECT, INSERT, DELETE ON observation_logs TO guest", {}));
  ASSERT_TRUE((*owner)->run("GRANT USAGE ON SEQUENCE observation_logs_id_seq TO guest", {}));
  const auto store = open_store(*place, false);
  ASSERT_TRUE(store) << store.error().message();
  behaves(**store);
}

}  // namespace
}  // namespace tacho
