// PostgreSQL through libpq, which is loaded at run time: its own libraries (Kerberos, LDAP …) must not be in every
// sidecar. Values are bound or sent by COPY, never spliced into SQL. A connection is used by one thread at a time.
// No wait is unlimited: the server ends a statement after its time (statement_timeout), the kernel ends a connection
// whose peer is gone (keep-alives, TCP user time-out), and we end one whose server says nothing. Relies on libpq 10 and
// a server of version 10 or later.
#pragma once
#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tacho {

// Where the server is: libpq's keywords, or a URL under "dbname". Passwords come from here, PGPASSWORD or ~/.pgpass.
struct PostgresPlace {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string name;          // for people, without a password
  int patience_ms = 60'000;  // for a server that says nothing; longer than a statement's time
};

// The functions of libpq that are used.
struct PostgresApi {
  decltype(&PQconnectdbParams) connect;
  decltype(&PQfinish) finish;
  decltype(&PQstatus) status;
  decltype(&PQerrorMessage) error_message;
  decltype(&PQsetNoticeProcessor) set_notice_processor;
  decltype(&PQlibVersion) library_version;
  decltype(&PQsocket) socket;
  decltype(&PQsetnonblocking) set_nonblocking;
  decltype(&PQflush) flush;
  decltype(&PQconsumeInput) consume_input;
  decltype(&PQisBusy) is_busy;
  decltype(&PQgetCancel) get_cancel;
  decltype(&PQcancel) cancel;
  decltype(&PQfreeCancel) free_cancel;
  decltype(&PQsendQueryParams) send_query;
  decltype(&PQsetSingleRowMode) single_row_mode;
  decltype(&PQgetResult) get_result;
  decltype(&PQresultStatus) result_status;
  decltype(&PQresultErrorField) error_field;
  decltype(&PQclear) clear;
  decltype(&PQgetvalue) value;
  decltype(&PQgetlength) length;
  decltype(&PQputCopyData) put_copy_data;
  decltype(&PQputCopyEnd) put_copy_end;

  static Result<const PostgresApi*> load();  // once; libpq stays loaded
};

class PostgresConnection {
 public:
  static Result<std::unique_ptr<PostgresConnection>> open(const PostgresPlace& place);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  using Row = std::function<void(std::span<const std::string_view> columns)>;
  // One statement with its parameters ($1 …); every row is passed on as it comes.
  Status run(const char* sql, std::span<const std::string> parameters, const Row& row = {});
  Status start_copy(const char* sql);
  Status send_copy(std::string_view bytes);
  Status end_copy();                      // ok: all rows are stored
  void abandon_copy(const char* reason);  // none is
  // For long statements: no limit but the connection's own.
  Status without_limit();
  // From another thread: ends the statement that runs.
  void cancel();
  bool broken() const { return lost_ || api_->status(handle_) != CONNECTION_OK; }

 private:
  PostgresConnection(const PostgresApi* api, PGconn* handle, const PostgresPlace& place)
      : api_(api), handle_(handle), name_(place.name), patience_ms_(place.patience_ms) {}
  bool wait(short events);
  bool flush();
  PGresult* next_result();
  Status set_limits();
  Error error(const char* what, const PGresult* result);
  Status drain(const char* what, const Row& row);

  const PostgresApi* api_;
  PGconn* handle_;
  std::string name_;
  int patience_ms_;    // −1: any time
  bool lost_ = false;  // the server did not answer: libpq 15 may still call such a connection good
};

}  // namespace tacho
