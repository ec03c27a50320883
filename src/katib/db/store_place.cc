#include "katib/db/store_place.h"

#include "base/path.h"
#include "base/text.h"
#include "katib/collect/go_flags.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/user_folder.h"

namespace tacho {
namespace {

bool is_postgres(std::string_view text) { return text.starts_with("postgres://") || text.starts_with("postgresql://"); }

// What a URL may overrule stands before it, what the service needs stands behind.
PostgresPlace with_settings(std::vector<std::pair<std::string, std::string>> server, std::string name) {
  PostgresPlace place;
  place.name = std::move(name);
  // A peer that is gone without a word is noticed within a minute, with and without something on its way.
  place.parameters = {{"connect_timeout", "10"},     {"fallback_application_name", "tacho-katib"},
                      {"keepalives", "1"},           {"keepalives_idle", "30"},
                      {"keepalives_interval", "10"}, {"keepalives_count", "3"},
                      {"tcp_user_timeout", "60000"}};
  place.parameters.insert(place.parameters.end(), server.begin(), server.end());
  place.parameters.emplace_back("client_encoding", "UTF8");
  return place;
}

Result<StorePlace> place_of_text(const std::string& text) {
  StorePlace place;
  place.check_only = parse_go_bool(environment_or("SKIP_DB_INITIALIZATION"));
  if (is_postgres(text)) {
    place.postgres = with_settings({{"dbname", text}}, name_of_url(text));
  } else if (text.find("://") != text.npos) {
    return Error{Code::invalid, "no such kind of store", text.substr(0, text.find("://") + 3),
                 "a file for SQLite, or postgres://USER@HOST/DATABASE"};
  } else {
    place.file = text;
  }
  return place;
}

// As the DB manager of Katib is told: DB_USER, DB_PASSWORD, KATIB_POSTGRESQL_DB_HOST, _PORT, _DATABASE, _SSL_MODE.
PostgresPlace postgres_of_environment() {
  const std::string host = environment_or("KATIB_POSTGRESQL_DB_HOST", "katib-postgres");
  const std::string port = environment_or("KATIB_POSTGRESQL_DB_PORT", "5432");
  const std::string database = environment_or("KATIB_POSTGRESQL_DB_DATABASE", "katib");
  const std::string user = environment_or("DB_USER", "katib");
  std::vector<std::pair<std::string, std::string>> server = {
      {"host", host},
      {"port", port},
      {"user", user},
      {"dbname", database},
      {"sslmode", environment_or("KATIB_POSTGRESQL_SSL_MODE", "disable")}};
  // Without it libpq looks at PGPASSWORD and ~/.pgpass.
  if (const std::string password = environment_or("DB_PASSWORD"); !password.empty())
    server.emplace_back("password", password);
  return with_settings(std::move(server), "postgres://" + user + "@" + host + ":" + port + "/" + database);
}

Result<std::string> own_file() {
  const std::string state = state_folder();
  if (state.empty()) return Error{Code::invalid, "no folder for the database", "HOME is not set", "say --store FILE"};
  return state + "/tacho/katib.db";
}

}  // namespace

std::string name_of_url(std::string_view url) {
  url = url.substr(0, url.find('?'));
  const size_t start = url.find("://") + 3;
  const size_t at = url.rfind('@');  // the last one: a password may hold any character
  if (at == url.npos || at < start) return std::string(url);
  const std::string_view user = url.substr(start, at - start);
  std::string name(url.substr(0, start));
  name += user.substr(0, user.find(':'));
  return name += url.substr(at);
}

bool has_password(std::string_view url) {
  return is_postgres(url) && (name_of_url(url) != url.substr(0, url.find('?')) || url.find("password=") != url.npos);
}

Result<StorePlace> find_store(const std::string& text) {
  if (!text.empty()) return place_of_text(text);
  if (const std::string named = environment_or("TACHO_KATIB_STORE"); !named.empty()) return place_of_text(named);
  const std::string kind = environment_or("DB_NAME", "sqlite");
  if (kind == "postgres") {
    StorePlace place;
    place.postgres = postgres_of_environment();
    place.check_only = parse_go_bool(environment_or("SKIP_DB_INITIALIZATION"));
    return place;
  }
  if (kind != "sqlite") {
    return Error{Code::invalid, "this service has no such kind of store", "DB_NAME=" + kind,
                 "it has sqlite and postgres; for MySQL run katib-db-manager itself"};
  }
  const Result<std::string> file = own_file();
  if (!file) return file.error();
  return place_of_text(*file);
}

Result<StorePlace> find_store_in_file(const std::string& path) {
  const Result<std::string> text = read_whole_file(path, 64 * 1024);
  if (!text) return text.error();
  const std::string place(trim(*text));
  if (place.empty())
    return Error{Code::invalid, "the file names no store", path, "one line: postgres://USER:PASSWORD@HOST/DATABASE"};
  return place_of_text(place);
}

Result<std::unique_ptr<ObservationStore>> open_store(const StorePlace& place, bool read_only) {
  const TableInit init = read_only ? TableInit::read_only : place.check_only ? TableInit::check : TableInit::create;
  if (place.file.empty()) return open_postgres_store(place.postgres, init);
  if (const Result<std::string> own = own_file(); !read_only && own && *own == place.file) {
    const Status made = make_directories(parent_folder(place.file));
    if (!made) return made.error();
  }
  return open_sqlite_store(place.file, init);
}

}  // namespace tacho
