#include "katib/db/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "katib/db/postgres.h"
#include "katib/db/sqlite.h"
#include "katib/db/store_place.h"
#include "support/katib_store.h"

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

// The same report once more, and from somebody else at the same time: stored once.
void stores_an_id_once(ObservationStore& store) {
  ASSERT_TRUE(store.knows_ids());
  const auto report = [&](const std::string& trial, const std::string& id) -> std::string {
    auto batch = store.begin(trial, id);
    if (!batch) return batch.error().message();
    if ((*batch)->known()) return "known";
    if (const Status added = (*batch)->add(us("2026-11-15T09:30:01Z"), "loss", id); !added)
      return added.error().message();
    const Status stored = (*batch)->commit();
    return stored ? "stored" : stored.error().message();
  };
  EXPECT_EQ(report("once", "a"), "stored");
  EXPECT_EQ(report("once", "a"), "known");
  EXPECT_EQ(report("once", ""), "stored");
  EXPECT_EQ(report("once", ""), "stored");
  EXPECT_EQ(report("other", "a"), "stored");
  { auto given_up = store.begin("once", "b"); }
  EXPECT_EQ(report("once", "b"), "stored") << "what was not stored is not remembered";
  std::vector<std::thread> threads;
  std::array<std::string, 8> said;
  for (size_t i = 0; i < said.size(); ++i)
    threads.emplace_back([&, i] { said[i] = report("once", "c" + std::to_string(i % 2)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(said.begin(), said.end(), "stored"), 2);
  EXPECT_EQ(std::count(said.begin(), said.end(), "known"), 6);
  EXPECT_EQ(read_all(store, {"once", "", {}, {}}).size(), 6u);
  ASSERT_TRUE(store.remove("once"));
  EXPECT_EQ(report("once", "a"), "stored") << "a new attempt may begin anew";
}

TEST(SqliteStore, AReportIsStoredOnce) {
  TempDir folder;
  const auto store = open_sqlite_store(folder / "katib.db", TableInit::create);
  ASSERT_TRUE(store);
  stores_an_id_once(**store);
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

constexpr const char* kOldTable =
    "CREATE TABLE observation_logs (trial_name VARCHAR(255) NOT NULL, id serial PRIMARY KEY, time TIMESTAMP(6), "
    "metric_name VARCHAR(255) NOT NULL, value TEXT NOT NULL)";

std::string answer_of(PostgresConnection& connection, const std::string& sql) {
  std::string out;
  const Status asked =
      connection.run(sql.c_str(), {}, [&](std::span<const std::string_view> columns) { out = columns[0]; });
  return asked ? out : asked.error().message();
}

bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 600; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

// One server for what follows: starting one takes a second.
TEST(PostgresStore, LimitsIndexAndIds) {
  PostgresServer server;
  if (!server.running()) GTEST_SKIP() << "no PostgreSQL server here";
  const auto place = find_store(server.url());
  ASSERT_TRUE(place);
  auto opened = PostgresConnection::open(place->postgres);
  ASSERT_TRUE(opened) << opened.error().message();
  PostgresConnection& owner = **opened;
  EXPECT_EQ(answer_of(owner, "SELECT current_setting('statement_timeout'), '', ''"), "50s");
  EXPECT_EQ(answer_of(owner, "SELECT current_setting('lock_timeout'), '', ''"), "30s");

  // A table that is in use: neither the service nor those who write wait for the index.
  const auto valid = [&] {
    return answer_of(owner,
                     "SELECT coalesce((SELECT indisvalid::text FROM pg_index WHERE indexrelid = "
                     "to_regclass('observation_logs_by_metric')), 'none'), '', ''");
  };
  ASSERT_TRUE(owner.run(kOldTable, {}));
  auto busy = PostgresConnection::open(place->postgres);
  ASSERT_TRUE(
      busy && (*busy)->run("BEGIN", {}) &&
      (*busy)->run("INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES ('x', now(), 'm', '1')",
                   {}));
  {
    const auto store = open_store(*place, false);
    ASSERT_TRUE(store) << store.error().message();
    EXPECT_TRUE(store_one(**store, "t", "2026-11-15T09:30:01Z", "loss", "1"));
    EXPECT_NE(valid(), "true");
    ASSERT_TRUE((*busy)->run("COMMIT", {}));
    EXPECT_TRUE(comes_true([&] { return valid() == "true"; })) << valid();
    stores_an_id_once(**store);
  }
  // One that somebody left half made.
  ASSERT_TRUE(owner.run(
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'observation_logs_by_metric'::regclass", {}));
  ASSERT_EQ(valid(), "false");
  {
    const auto store = open_store(*place, false);
    ASSERT_TRUE(store);
    EXPECT_TRUE(comes_true([&] { return valid() == "true"; })) << valid();
  }
  // A service that ends while its index is being made does not wait for whoever is in its way.
  ASSERT_TRUE(owner.run("DROP INDEX observation_logs_by_metric", {}));
  ASSERT_TRUE(
      (*busy)->run("BEGIN", {}) &&
      (*busy)->run("INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES ('x', now(), 'm', '2')",
                   {}));
  { ASSERT_TRUE(open_store(*place, false)); }
  ASSERT_TRUE((*busy)->run("COMMIT", {}));

  // A table that is locked: the server ends the statement, and it is the store's fault. What the URL says stands.
  const auto hasty = find_store(server.url() + "&options=-c%20statement_timeout%3D300ms");
  const auto store = open_store(*hasty, false);
  ASSERT_TRUE(store) << store.error().message();
  ASSERT_TRUE(comes_true([&] { return valid() == "true"; })) << valid();
  ASSERT_TRUE((*busy)->run("BEGIN", {}) && (*busy)->run("LOCK TABLE observation_logs IN ACCESS EXCLUSIVE MODE", {}));
  const Status late = store_one(**store, "t", "2026-11-15T09:30:02Z", "loss", "2");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::io) << late.error().message();
  ASSERT_TRUE((*busy)->run("ROLLBACK", {}));
  EXPECT_TRUE(store_one(**store, "t", "2026-11-15T09:30:02Z", "loss", "2"));

  // A server that says nothing at all.
  PostgresPlace impatient = place->postgres;
  impatient.patience_ms = 500;
  auto silent = PostgresConnection::open(impatient);
  ASSERT_TRUE(silent);
  const pid_t backend = std::stoi(answer_of(**silent, "SELECT pg_backend_pid()::text, '', ''"));
  ASSERT_EQ(::kill(backend, SIGSTOP), 0);
  const Status silence = (*silent)->run("SELECT 1", {});
  EXPECT_FALSE(silence);
  EXPECT_TRUE((*silent)->broken());
  ::kill(backend, SIGCONT);
}

}  // namespace
}  // namespace tacho
