// Which store a command means: --store, TACHO_KATIB_STORE, the variables of Katib's own DB manager, or the file that
// belongs to this user. Reads the environment; otherwise pure.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "katib/db/postgres.h"
#include "katib/db/store.h"

namespace tacho {

struct StorePlace {
  std::string file;  // SQLite, unless empty
  PostgresPlace postgres;
  bool check_only = false;  // SKIP_DB_INITIALIZATION: the table is there already
};

// `text`: a file, or postgres://USER@HOST:PORT/DATABASE; empty: from the environment.
Result<StorePlace> find_store(const std::string& text);
// A place that was written to a file, so that its password is in no command line.
Result<StorePlace> find_store_in_file(const std::string& path);
Result<std::unique_ptr<ObservationStore>> open_store(const StorePlace& place, bool read_only);

bool has_password(std::string_view url);
// The URL for people: user, host and database, no password and no options.
std::string name_of_url(std::string_view url);

}  // namespace tacho
