#include "katib/db/postgres.h"

#include <poll.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "os/library.h"

namespace tacho {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

Result<PostgresApi> load_api() {
  const Result<Library> library = Library::open(kLibrary);
  if (!library) {
    return Error{Code::not_available, "PostgreSQL's client library cannot be loaded", kLibrary,
                 "install it (Debian: libpq5), or store in a SQLite file: --store FILE"};
  }
  PostgresApi api{};
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library->symbol(name));
    if (function == nullptr) missing = name;
  };
  find(api.connect, "PQconnectdbParams");
  find(api.finish, "PQfinish");
  find(api.status, "PQstatus");
  find(api.error_message, "PQerrorMessage");
  find(api.set_notice_processor, "PQsetNoticeProcessor");
  find(api.library_version, "PQlibVersion");
  find(api.socket, "PQsocket");
  find(api.set_nonblocking, "PQsetnonblocking");
  find(api.flush, "PQflush");
  find(api.consume_input, "PQconsumeInput");
  find(api.is_busy, "PQisBusy");
  find(api.get_cancel, "PQgetCancel");
  find(api.cancel, "PQcancel");
  find(api.free_cancel, "PQfreeCancel");
  find(api.send_query, "PQsendQueryParams");
  find(api.single_row_mode, "PQsetSingleRowMode");
  find(api.get_result, "PQgetResult");
  find(api.result_status, "PQresultStatus");
  find(api.error_field, "PQresultErrorField");
  find(api.clear, "PQclear");
  find(api.value, "PQgetvalue");
  find(api.length, "PQgetlength");
  find(api.put_copy_data, "PQputCopyData");
  find(api.put_copy_end, "PQputCopyEnd");
  if (missing != nullptr)
    return Error{Code::not_available, "PostgreSQL's client library is too old", kLibrary,
                 std::string("it lacks ") + missing};
  return api;
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const std::string_view part : split(trim(text), '\n')) {
    if (!line.empty()) line += "; ";
    line += trim(part);
  }
  return line;
}

}  // namespace

Result<const PostgresApi*> PostgresApi::load() {
  static const Result<PostgresApi> api = load_api();
  if (!api) return api.error();
  return &*api;
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(const PostgresPlace& place) {
  const Result<const PostgresApi*> api = PostgresApi::load();
  if (!api) return api.error();
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : place.parameters) {
    if (keyword == "tcp_user_timeout" && (*api)->library_version() < 120'000) continue;  // it would refuse the word
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* handle = (*api)->connect(keywords.data(), values.data(), 1);
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(*api, handle, place));
  // Notices ("relation already exists") would go to stderr.
  (*api)->set_notice_processor(
      handle, [](void*, const char* text) { log::debug(one_line(text)); }, nullptr);
  if (connection->broken()) {
    return Error{Code::io, "cannot connect to PostgreSQL", place.name, one_line((*api)->error_message(handle))};
  }
  if ((*api)->set_nonblocking(handle, 1) != 0)
    return connection->error("cannot use the connection to PostgreSQL", nullptr);
  if (const Status limits = connection->set_limits(); !limits) return limits.error();
  return connection;
}

// Whatever the URL, the role or the database has set stands. A statement is given up before a collector gives up its
// call (60 s), so that what it did not hear of was not done.
Status PostgresConnection::set_limits() {
  constexpr const char* kLimits =
      "SELECT set_config('statement_timeout', CASE current_setting('statement_timeout') WHEN '0' THEN '50s' ELSE "
      "current_setting('statement_timeout') END, false), set_config('lock_timeout', CASE "
      "current_setting('lock_timeout') WHEN '0' THEN "
      "'30s' ELSE current_setting('lock_timeout') END, false), set_config('idle_in_transaction_session_timeout', CASE "
      "current_setting('idle_in_transaction_session_timeout') WHEN '0' THEN '60s' ELSE "
      "current_setting('idle_in_transaction_session_timeout') END, false)";
  return run(kLimits, {});
}

Status PostgresConnection::without_limit() {
  patience_ms_ = -1;
  return run("SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false), ''", {});
}

void PostgresConnection::cancel() {
  PGcancel* const cancel = api_->get_cancel(handle_);
  if (cancel == nullptr) return;
  std::array<char, 256> why{};
  if (api_->cancel(cancel, why.data(), static_cast<int>(why.size())) != 1) log::debug(why.data());
  api_->free_cancel(cancel);
}

// False: nothing came, and nothing will.
bool PostgresConnection::wait(short events) {
  pollfd ready{api_->socket(handle_), events, 0};
  int count = 0;
  do count = ready.fd < 0 ? 0 : ::poll(&ready, 1, patience_ms_);
  while (count < 0 && errno == EINTR);
  if (count > 0) return true;
  lost_ = true;
  return false;
}

bool PostgresConnection::flush() {
  for (;;) {
    const int left = api_->flush(handle_);
    if (left <= 0) return left == 0;
    // It may want to tell us something before it takes more.
    if (!wait(POLLIN | POLLOUT) || api_->consume_input(handle_) != 1) return false;
  }
}

// Null: there is none left, or the server is lost.
PGresult* PostgresConnection::next_result() {
  if (lost_ || !flush()) return nullptr;
  while (api_->is_busy(handle_) != 0) {
    if (wait(POLLIN) && api_->consume_input(handle_) == 1) continue;
    lost_ = true;
    return nullptr;
  }
  return api_->get_result(handle_);
}

PostgresConnection::~PostgresConnection() { api_->finish(handle_); }

Error PostgresConnection::error(const char* what, const PGresult* result) {
  const char* state = result != nullptr ? api_->error_field(result, PG_DIAG_SQLSTATE) : nullptr;
  const bool silent = std::exchange(lost_, lost_ || state == nullptr) && result == nullptr;
  const char* primary = result != nullptr ? api_->error_field(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  const std::string_view kind = state != nullptr ? std::string_view(state).substr(0, 2) : std::string_view();
  // Classes 22 and 23: the data does not fit. Everything else may pass.
  const Code code = kind == "22" || kind == "23" ? Code::invalid : Code::io;
  if (silent) return {code, what, name_, "the server did not answer in time, or the connection broke"};
  return {code, what, name_, one_line(primary != nullptr ? primary : api_->error_message(handle_))};
}

// Results until there is none left; the first failure is what is told.
Status PostgresConnection::drain(const char* what, const Row& row) {
  Status status = ok();
  std::vector<std::string_view> columns(3);
  while (PGresult* result = next_result()) {
    switch (api_->result_status(result)) {
      case PGRES_SINGLE_TUPLE:
        for (size_t at = 0; row && at < columns.size(); ++at) {
          const int column = static_cast<int>(at);
          columns[at] = {api_->value(result, 0, column), static_cast<size_t>(api_->length(result, 0, column))};
        }
        if (row) row(columns);
        break;
      case PGRES_TUPLES_OK:
      case PGRES_COMMAND_OK: break;
      default:
        if (status) status = error(what, result);
    }
    api_->clear(result);
    if (broken()) break;
  }
  if (status && broken()) status = error(what, nullptr);
  return status;
}

Status PostgresConnection::run(const char* sql, std::span<const std::string> parameters, const Row& row) {
  constexpr const char* kWhat = "PostgreSQL refuses a statement";
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) {
    // libpq would take the text before it: another name.
    if (parameter.find('\0') != parameter.npos)
      return Error{Code::invalid, "PostgreSQL knows no NUL byte in a text", name_, ""};
    values.push_back(parameter.c_str());
  }
  if (api_->send_query(handle_, sql, static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr, 0) !=
      1) {
    return error(kWhat, nullptr);
  }
  api_->single_row_mode(handle_);
  return drain(kWhat, row);
}

Status PostgresConnection::start_copy(const char* sql) {
  constexpr const char* kWhat = "PostgreSQL takes no rows";
  if (api_->send_query(handle_, sql, 0, nullptr, nullptr, nullptr, nullptr, 0) != 1) return error(kWhat, nullptr);
  PGresult* result = next_result();
  if (result != nullptr && api_->result_status(result) == PGRES_COPY_IN) return api_->clear(result), ok();
  Status status = error(kWhat, result);
  api_->clear(result);
  (void)drain("", {});
  return status;
}

Status PostgresConnection::send_copy(std::string_view bytes) {
  for (;;) {
    const int taken = api_->put_copy_data(handle_, bytes.data(), static_cast<int>(bytes.size()));
    if (taken < 0) break;
    if (!flush()) break;
    if (taken == 1) return ok();
  }
  return error("PostgreSQL takes no more rows", nullptr);
}

Status PostgresConnection::end_copy() {
  int taken = 0;
  while ((taken = api_->put_copy_end(handle_, nullptr)) == 0 && flush()) {}
  if (taken != 1) return error("PostgreSQL did not store the rows", nullptr);
  return drain("PostgreSQL did not store the rows", {});
}

void PostgresConnection::abandon_copy(const char* reason) {
  api_->put_copy_end(handle_, reason);
  (void)drain("", {});
}

}  // namespace tacho
