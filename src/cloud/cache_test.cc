// The cache of a boot and the id of the host.
#include "cloud/cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cloud/host_identity.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class CacheTest : public testing::Test {
 protected:
  CacheTest() {
    std::filesystem::create_directories(dir_ / "proc/sys/kernel/random");
    std::filesystem::create_directories(dir_ / "etc");
    boot("5d9cf5c4-0000-4b9b-8a37-5dbb1ca1e6f1");
    std::filesystem::create_directories(dir_ / "run");
    std::filesystem::permissions(dir_ / "run", std::filesystem::perms::owner_all);
    ::setenv("XDG_RUNTIME_DIR", (dir_ / "run").c_str(), 1);
  }
  ~CacheTest() override {
    for (const char* name : {"XDG_RUNTIME_DIR", "TACHO_HOST_ID", "TACHO_HOST_ID_VALUE"}) ::unsetenv(name);
  }
  void boot(const std::string& id) { spill(dir_ / "proc/sys/kernel/random/boot_id", id + "\n"); }
  CloudCache cache(const std::string& key, std::vector<std::string> hidden = {}) {
    return {roots(), key, std::move(hidden)};
  }
  Roots roots() const { return {dir_ / "proc", dir_ / "sys", dir_ / "etc"}; }

  TempDir dir_;
  const Cloud cloud_{"aws", "123", "eu-west-1", "eu-west-1a", "t3.nano", "i-1"};
};

TEST_F(CacheTest, SameBootSameQuestion) {
  EXPECT_FALSE(cache("aws").load());
  cache("aws").store(cloud_);
  EXPECT_EQ(cache("aws").load(), cloud_);
  EXPECT_FALSE(cache("aws,gcp").load());
  boot("another");
  EXPECT_FALSE(cache("aws").load());
}

TEST_F(CacheTest, HiddenFieldsAreNotInTheFile) {
  cache("aws", {"cloud_account_id", "host_id"}).store(cloud_);
  const std::string text = slurp(dir_ / "run/tacho/cloud.json");
  EXPECT_EQ(text.find("123"), std::string::npos) << text;
  EXPECT_EQ(text.find("i-1"), std::string::npos) << text;
  EXPECT_FALSE(cache("aws").load());  // shown now: it must be asked for
  const auto again = cache("aws", {"cloud_account_id", "host_id", "cloud_zone_id"}).load();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->region_id, "eu-west-1");
  EXPECT_FALSE(again->account_id);
}

// As with su, which leaves the variable as it is, or where somebody planted a link.
TEST_F(CacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  cache("aws").store(cloud_);
  EXPECT_TRUE(cache("aws").load());
  for (const char* folder : {"run/tacho", "run"}) {
    std::filesystem::permissions(dir_ / folder, std::filesystem::perms::all);
    EXPECT_FALSE(cache("aws").load());
    std::filesystem::permissions(dir_ / folder, std::filesystem::perms::owner_all);
  }
  std::filesystem::rename(dir_ / "run/tacho", dir_ / "elsewhere");
  std::filesystem::create_directory_symlink(dir_ / "elsewhere", dir_ / "run/tacho");
  EXPECT_FALSE(cache("aws").load());
  spill(dir_ / "elsewhere/cloud.json", "mine");
  cache("aws").store(cloud_);
  EXPECT_EQ(slurp(dir_ / "elsewhere/cloud.json"), "mine");
}

TEST_F(CacheTest, GarbageIsNoCache) {
  cache("aws").store(cloud_);
  for (const char* text : {"", "[]", "{", "null", R"({"boot_id": 3})"}) {
    spill(dir_ / "run/tacho/cloud.json", text);
    EXPECT_FALSE(cache("aws").load()) << text;
  }
}

TEST_F(CacheTest, NoFolderNoCache) {
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  cache("aws").store(cloud_);
  EXPECT_FALSE(cache("aws").load());
  ::unsetenv("XDG_RUNTIME_DIR");
  cache("aws").store(cloud_);
  EXPECT_FALSE(cache("aws").load());
}

TEST_F(CacheTest, InstanceIdIsTheBestHostId) {
  Host host;
  host.host_id = "serial";
  settle_host_id(host, {}, roots());
  EXPECT_EQ(host.host_id, "serial");
  settle_host_id(host, cloud_, roots());
  EXPECT_EQ(host.host_id, "i-1");
  host.host_id = "mine";
  ::setenv("TACHO_HOST_ID_VALUE", "mine", 1);
  settle_host_id(host, cloud_, roots());
  EXPECT_EQ(host.host_id, "mine");
}

TEST_F(CacheTest, HashedHostId) {
  // printf 'tacho host id' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
  Host host;
  ::setenv("TACHO_HOST_ID", "hash", 1);
  settle_host_id(host, cloud_, roots());
  EXPECT_FALSE(host.host_id);  // no machine-id: rather none than the plain one
  spill(dir_ / "etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  settle_host_id(host, cloud_, roots());
  EXPECT_EQ(host.host_id, "b3f07db21a99bb27e0f2f05e4322595f");
}

}  // namespace
}  // namespace tacho
