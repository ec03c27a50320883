#include <gtest/gtest.h>

#include <cstdlib>

#include "katib/db/store_place.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// Sets variables for one test and takes them away again.
class StorePlaceTest : public ::testing::Test {
 protected:
  void set(const char* name, const char* value) {
    ::setenv(name, value, 1);
    names_.push_back(name);
  }
  void TearDown() override {
    for (const char* name : names_) ::unsetenv(name);
  }
  std::vector<const char*> names_;
};

std::string parameter(const PostgresPlace& place, std::string_view keyword) {
  for (const auto& [key, value] : place.parameters) {
    if (key == keyword) return value;
  }
  return "none";
}

TEST_F(StorePlaceTest, AFileOrAUrl) {
  EXPECT_EQ(find_store("some/katib.db")->file, "some/katib.db");
  const auto place = find_store("postgresql://me:secret@db:5433/katib?sslmode=require");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->file, "");
  EXPECT_EQ(parameter(place->postgres, "dbname"), "postgresql://me:secret@db:5433/katib?sslmode=require");
  EXPECT_EQ(place->postgres.name, "postgresql://me@db:5433/katib");
  const auto refused = find_store("mysql://db/katib");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid);
}

TEST_F(StorePlaceTest, PasswordsAreNeverInAName) {
  EXPECT_EQ(name_of_url("postgres://me:p@ss/w@db/katib"), "postgres://me@db/katib");
  EXPECT_EQ(name_of_url("postgres://me:p%40ss@db/katib?password=x"), "postgres://me@db/katib");
  EXPECT_EQ(name_of_url("postgres://db/katib"), "postgres://db/katib");
  EXPECT_TRUE(has_password("postgres://me:x@db/katib"));
  EXPECT_TRUE(has_password("postgres://db/katib?user=a&password=x"));
  EXPECT_FALSE(has_password("postgres://me@db/katib?sslmode=require"));
  EXPECT_FALSE(has_password("password=/file"));
}

TEST_F(StorePlaceTest, TheVariablesOfTheOtherManager) {
  set("DB_NAME", "postgres");
  set("KATIB_POSTGRESQL_DB_HOST", "db.example");
  set("DB_PASSWORD", "secret");
  set("SKIP_DB_INITIALIZATION", "true");
  const auto place = find_store("");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->postgres.name, "postgres://katib@db.example:5432/katib");
  EXPECT_EQ(parameter(place->postgres, "password"), "secret");
  EXPECT_EQ(parameter(place->postgres, "sslmode"), "disable");
  EXPECT_TRUE(place->check_only);
  ::unsetenv("DB_PASSWORD");
  EXPECT_EQ(parameter(find_store("")->postgres, "password"), "none");
  set("DB_NAME", "mysql");
  EXPECT_FALSE(find_store(""));
  set("TACHO_KATIB_STORE", "/data/katib.db");
  EXPECT_EQ(find_store("")->file, "/data/katib.db");
  EXPECT_EQ(find_store("mine.db")->file, "mine.db");
}

TEST_F(StorePlaceTest, TheFileOfThisUser) {
  TempDir folder;
  set("XDG_STATE_HOME", folder.path().c_str());
  const auto place = find_store("");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->file, folder / "tacho/katib.db");
  EXPECT_TRUE(open_store(*place, false));
  EXPECT_TRUE(std::filesystem::exists(folder / "tacho/katib.db"));
}

TEST_F(StorePlaceTest, AUrlInAFile) {
  TempDir folder;
  spill(folder / "url", "postgres://me:secret@db/katib\n");
  EXPECT_EQ(find_store_in_file(folder / "url")->postgres.name, "postgres://me@db/katib");
  spill(folder / "empty", " \n");
  EXPECT_FALSE(find_store_in_file(folder / "empty"));
  EXPECT_FALSE(find_store_in_file(folder / "missing"));
}

}  // namespace
}  // namespace tacho
