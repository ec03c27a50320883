#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "kube/api/cluster_test_support.h"
#include "kube/webhook/image_store.h"
#include "kube/webhook/registry.h"
#include "os/clock.h"
#include "os/file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(ImageReference, AsPodsWriteThem) {
  struct Case {
    const char* text;
    const char* registry;
    const char* repository;
    const char* version;
  };
  const std::string digest = "sha256:" + std::string(64, 'a');
  for (const Case& one :
       {Case{"python", "registry-1.docker.io", "library/python", "latest"},
        Case{"me/x:1.2", "registry-1.docker.io", "me/x", "1.2"},
        Case{"docker.io/me/x", "registry-1.docker.io", "me/x", "latest"},
        Case{"ghcr.io/a/b/c:v", "ghcr.io", "a/b/c", "v"}, Case{"localhost:5000/x", "localhost:5000", "x", "latest"},
        Case{"localhost/x:y", "localhost", "x", "y"}}) {
    const auto image = parse_image(one.text);
    ASSERT_TRUE(image) << one.text;
    EXPECT_EQ(image->registry, one.registry) << one.text;
    EXPECT_EQ(image->repository, one.repository) << one.text;
    EXPECT_EQ(image->version(), one.version) << one.text;
  }
  const auto pinned = parse_image("ghcr.io/a/b:tag@" + digest);
  ASSERT_TRUE(pinned);
  EXPECT_EQ(pinned->version(), digest);
  for (const char* text :
       {"", "A/B", "a//b", "/a", "a/", "x:", "x:a b", "x@sha256:1", "x@y", "ghcr.io/../x", "a b", "x\ny", "http://a/b"})
    EXPECT_FALSE(parse_image(text)) << text;
}

TEST(ImageReference, PullPolicy) {
  EXPECT_TRUE(pulls_always(*parse_image("x"), ""));
  EXPECT_FALSE(pulls_always(*parse_image("x"), "IfNotPresent"));
  EXPECT_FALSE(pulls_always(*parse_image("x:1"), ""));
  EXPECT_TRUE(pulls_always(*parse_image("x:1"), "Always"));
}

TEST(Registry, Challenges) {
  const Challenge bearer = parse_challenge(
      R"(Bearer realm="https://auth.example/token?a=b",service="reg, \"x\"",scope=repository:a/b:pull)");
  EXPECT_EQ(bearer.scheme, "bearer");
  EXPECT_EQ(bearer.values.at("realm"), "https://auth.example/token?a=b");
  EXPECT_EQ(bearer.values.at("service"), "reg, \"x\"");
  EXPECT_EQ(bearer.values.at("scope"), "repository:a/b:pull");
  EXPECT_EQ(parse_challenge("Basic realm=\"x\"").scheme, "basic");
  for (const char* odd : {"", " ", "Bearer", "Bearer =", "Bearer a=\"", "Bearer a=\"\\", ",,,=,"})
    (void)parse_challenge(odd);
}

TEST(Registry, DockerConfig) {
  const auto logins = parse_docker_config(
      R"({"auths":{"https://index.docker.io/v1/":{"auth":"dXNlcjpwOnc="},"ghcr.io":{"username":"a","password":"b"},"empty":{},"bad":{"auth":"%"}}})");
  EXPECT_EQ(logins.size(), 2u);
  const RegistryLogin* hub = find_login(logins, *parse_image("python"));
  ASSERT_NE(hub, nullptr);
  EXPECT_EQ(hub->user, "user");
  EXPECT_EQ(hub->password, "p:w");
  EXPECT_EQ(find_login(logins, *parse_image("ghcr.io/x/y"))->password, "b");
  EXPECT_EQ(find_login(logins, *parse_image("quay.io/x/y")), nullptr);
  EXPECT_TRUE(parse_docker_config("[]").empty());
}

TEST(ImageStore, ImagesOfATrial) {
  const Json trial = Json::parse(
      R"({"spec":{"primaryContainerName":"main","runSpec":{"spec":{"deep":[{"template":{"spec":{"imagePullSecrets":[{"name":"s"}],
    "containers":[{"name":"main","image":"a"},{"name":"side","image":"b"}]}}}],"other":{"containers":[{"name":"main","image":"c","command":["x"]}]},
    "trainer":{"image":"t"}}}}})");
  const std::vector<WantedImage> wanted = wanted_images(trial);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].image, "a");
  EXPECT_EQ(wanted[0].secrets, std::vector<std::string>({"s"}));
  EXPECT_EQ(wanted[1].image, "t");
  Json done = trial;
  done["status"]["completionTime"] = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(wanted_images(done).empty());
}

TEST(ImageStore, WhatAClockAheadHasReadIsOld) {
  const TempDir folder;
  const int64_t now_s = system_clock().realtime_ns() / kNsPerSec;
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto keep = [&](const std::string& image, int64_t read_s) {
    const Json entry = {{"image", "ghcr.io/me/" + image}, {"read", read_s}, {"entryPoint", {"x"}}, {"arguments", {}}};
    ASSERT_TRUE(write_file_atomically(folder.path() + "/" + std::to_string(read_s) + ".json", dump_json(entry)));
  };
  keep("now:1", now_s - 1);
  keep("ahead:1", now_s + 400 * 86'400);
  keep("old:1", now_s - 2 * 86'400);
  keep("odd:1", std::numeric_limits<int64_t>::min());
  keep("pinned@" + digest, now_s + 100 * 86'400);
  FakeCluster cluster;
  WebhookMetrics metrics;
  ImageStoreOptions options;
  options.folder = folder.path();
  options.lookups = false;
  ImageStore store(cluster, cluster, options, metrics);
  const auto known = [&](const std::string& image) {
    return store.find("ghcr.io/me/" + image, "IfNotPresent", 0).has_value();
  };
  EXPECT_TRUE(known("now:1"));
  EXPECT_FALSE(known("ahead:1")) << "for over a year the image's old command was taken for its own";
  EXPECT_FALSE(known("old:1"));
  EXPECT_FALSE(known("odd:1"));
  EXPECT_TRUE(known("pinned@" + digest));
  store.stop();
}

}  // namespace
}  // namespace tacho
