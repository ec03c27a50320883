#include "query/query_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/exit_status.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/text.h"
#include "os/file.h"
#include "query/cache.h"
#include "query/guard.h"
#include "query/interrupt.h"
#include "query/refresh.h"
#include "query/schema.h"
#include "query/statements.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr size_t kLongestSql = 1'000'000;  // SQLite's own bound

struct Question {
  std::string store_dir, sql;
  RowFormat format = RowFormat::table;
  bool no_cache = false, schema = false, help = false, version = false;
  int formats = 0;
  std::vector<std::string> words;
};

constexpr Flag kFlags[] = {{"store", Flag::Kind::text, 0, "DIR", "folder of the run store"},
                           {"csv", Flag::Kind::bare, 0, "", "print CSV"},
                           {"json", Flag::Kind::bare, 0, "", "print a JSON array of objects"},
                           {"jsonl", Flag::Kind::bare, 0, "", "print a JSON object a line"},
                           {"schema", Flag::Kind::bare, 0, "", "print the tables and their columns"},
                           {"no-cache", Flag::Kind::bare, 0, "", "read every run anew, and keep nothing"},
                           {"help", Flag::Kind::bare, 'h', "", "print this"},
                           {"version", Flag::Kind::bare, 'V', "", "print the version"}};

void take_flag(const FlagWord& met, Question& question) {
  const std::string_view name = met.flag->name;
  const auto format = [&](RowFormat wanted) { question.format = wanted, ++question.formats; };
  if (name == "store") question.store_dir = met.value;
  else if (name == "csv") format(RowFormat::csv);
  else if (name == "json") format(RowFormat::json);
  else if (name == "jsonl") format(RowFormat::jsonl);
  else if (name == "schema") question.schema = true;
  else if (name == "no-cache") question.no_cache = true;
  else if (name == "help") question.help = true;
  else question.version = true;
}

Result<std::string> sql_of(const std::string& word) {
  if (word != "-") return word;
  std::string text;
  char chunk[65536];
  for (size_t got; (got = std::fread(chunk, 1, sizeof chunk, stdin)) > 0 && text.size() <= kLongestSql;)
    text.append(chunk, got);
  return text;
}

Result<Question> question_of(std::span<const std::string> words) {
  Question question;
  FlagRules rules;
  rules.dashes = FlagRules::Dashes::words;
  rules.comment_is_word = true;
  for (FlagReader reader(words, kFlags, rules); reader.next();) {
    if (reader->kind == FlagWord::Kind::word) question.words.emplace_back(reader->word);
    else if (reader->kind == FlagWord::Kind::flag) take_flag(*reader, question);
    else
      return Error{Code::invalid, "bad option", reader->name,
                   nearest_flag(reader->name, kFlags, "see tacho query --help")};
  }
  if (question.help || question.version || question.schema) return question;
  if (question.formats > 1)
    return Error{Code::invalid, "--csv, --json and --jsonl exclude each other", "", "give one of them"};
  if (question.words.size() != 1)
    return Error{Code::invalid, question.words.empty() ? "query takes SQL" : "query takes one text of SQL", "",
                 "write tacho query 'SELECT run, seconds FROM runs'; - reads it from stdin"};
  auto sql = sql_of(question.words[0]);
  if (!sql) return sql.error();
  question.sql = std::move(*sql);
  if (trim(question.sql).empty())
    return Error{Code::invalid, "query takes SQL", "", "tacho query --schema prints the tables"};
  if (question.sql.size() > kLongestSql)
    return Error{Code::invalid, "the SQL has more than 1,000,000 bytes", "", "divide it into several queries"};
  if (question.sql.find('\0') != std::string::npos)
    return Error{Code::invalid, "there is a NUL byte in the SQL", "", "write it as text, without such bytes"};
  if (question.store_dir.empty()) question.store_dir = default_store_dir();
  question.store_dir = real_path(question.store_dir);
  return question;
}

// One question, asked of the kept tables, else of new ones, else of such as are not kept.
class Asking {
 public:
  explicit Asking(const Question& question) : question_(question), cache_(question.store_dir) {}

  int status() {
    if (question_.no_cache) return ask_unkept();
    if (const Status opened = cache_.open(); !opened) return ask_unkept(&opened.error());
    Outcome outcome = ask();
    if (outcome == Outcome::damaged) {
      cache_.discard();
      if (const Status opened = cache_.open_anew(); !opened) return ask_unkept(&opened.error());
      outcome = ask();
    }
    if (outcome == Outcome::no_room) {
      const Error reason = cache_.database().error("the cache cannot be written now");
      return ask_unkept(&reason);
    }
    return outcome == Outcome::damaged ? 1 : static_cast<int>(outcome);
  }

 private:
  enum class Outcome : int {
    well = 0,
    failed = 1,
    refused = kRefused,
    interrupted = kInterruptedStatus,
    damaged,
    no_room
  };

  int ask_unkept(const Error* reason = nullptr) {
    if (reason != nullptr) log::warn("no cache, so that every query reads all runs anew: " + reason->message());
    if (const Status opened = cache_.open_unkept(); !opened) return log::error(opened.error().message()), 1;
    const Outcome outcome = ask();
    if (outcome != Outcome::no_room && outcome != Outcome::damaged) return static_cast<int>(outcome);
    log::error(cache_.database().error("there is no room for the tables").message());
    return 1;
  }

  Outcome ask() {
    const Database& database = cache_.database();
    interrupt_also(database.get());
    cache_.answer(false);
    uint32_t parts = 0;
    const Outcome outcome = fill_and_run(database, parts);
    interrupt_also(nullptr);
    return outcome;
  }

  Outcome fill_and_run(const Database& database, uint32_t& parts) {
    guard(database, &parts);
    if (const auto error = check_statements(database, question_.sql)) {
      if ((sqlite3_errcode(database.get()) & 0xff) == SQLITE_CORRUPT) return Outcome::damaged;
      return log::error(error->message()), Outcome::failed;
    }
    sqlite3_set_authorizer(database.get(), nullptr, nullptr);  // filling writes
    if (parts != 0) {
      const auto refreshed = refresh(database, question_.store_dir, parts, cache_.is_new());
      if (!refreshed) return log::error(refreshed.error().message()), Outcome::refused;
      if (*refreshed == Refreshed::interrupted) return Outcome::interrupted;
      if (*refreshed == Refreshed::damaged) return Outcome::damaged;
      if (*refreshed == Refreshed::refused) return Outcome::no_room;
      cache_.keep();
    }
    guard(database, &parts);
    cache_.answer(true);
    switch (run_statements(database, question_.sql, question_.format)) {
      case Answer::given: return Outcome::well;
      case Answer::interrupted: return Outcome::interrupted;
      case Answer::damaged: return Outcome::damaged;
      default: return Outcome::failed;
    }
  }

  const Question& question_;
  QueryCache cache_;
};

}  // namespace

int query_command(std::span<const std::string> words) {
  const auto question = question_of(words);
  if (!question) return log::error(question.error().message()), kRefused;
  if (question->version) return std::puts("tacho-query " TACHO_VERSION) < 0 ? 1 : 0;
  if (question->help)
    return std::printf("tacho-query [OPTIONS] 'SQL': SQL over the run store; run by tacho query\n%s",
                       flags_help(kFlags, 20, 2).c_str()) < 0;
  if (question->schema) {
    if (std::fputs(schema_text().c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
    return log::error(system_error("cannot write", "stdout", errno).message()), 1;
  }
  bound_memory();
  catch_interrupts();
  return Asking(*question).status();
}

}  // namespace tacho
