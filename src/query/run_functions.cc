#include "query/run_functions.h"

#include "base/text.h"
#include "query/run_list.h"
#include "query/schema.h"
#include "report/verdict/verdict.h"

namespace tacho {
namespace {

// The folder of the run that the first argument names; empty: that is no run's name, or nobody wants to know.
std::string folder_of(sqlite3_context* context, sqlite3_value* argument) {
  const auto& functions = *static_cast<const RunFunctions*>(sqlite3_user_data(context));
  if (!functions.answer) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(argument));
  const std::string_view name(text != nullptr ? text : "", static_cast<size_t>(sqlite3_value_bytes(argument)));
  if (!is_run_name(name)) return {};
  return functions.store_dir + "/" + std::string(name);
}

void give(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// NULL where it is gone or damaged.
void run_json(sqlite3_context* context, int, sqlite3_value** arguments) {
  const std::string folder = folder_of(context, arguments[0]);
  if (folder.empty()) return;
  if (const auto stored = read_stored(folder)) give(context, trim(stored->json));
}

void run_verdict(sqlite3_context* context, int, sqlite3_value** arguments) {
  const std::string folder = folder_of(context, arguments[0]);
  if (folder.empty()) return;
  auto stored = read_stored(folder);
  if (!stored) return;
  if (const auto verdict = verdict_of(stored_input(std::move(*stored)))) give(context, verdict->judgement.verdict);
}

}  // namespace

void add_run_functions(const Database& database, const RunFunctions& functions) {
  // Deterministic within a statement, which is what a column of a table has to be.
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  const auto add = [&](std::string_view name, void (*function)(sqlite3_context*, int, sqlite3_value**)) {
    auto* data = const_cast<RunFunctions*>(&functions);
    sqlite3_create_function_v2(database.get(), name.data(), 1, kFlags, data, function, nullptr, nullptr, nullptr);
  };
  add(kJsonFunction, run_json);
  add(kVerdictFunction, run_verdict);
}

}  // namespace tacho
