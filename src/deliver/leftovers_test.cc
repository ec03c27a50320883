// Whose runs are sent by the way.
#include "deliver/leftovers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "deliver/kinds.h"
#include "spool/writer.h"
#include "support/double.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// A run in the first of these places that can be written to.
SpoolWriter start(const std::vector<std::string>& roots, const char* utc, std::string_view meta) {
  auto writer = SpoolWriter::create(roots, utc);
  EXPECT_TRUE(writer);
  EXPECT_TRUE(writer->write_meta(meta, false));
  return std::move(*writer);
}

TEST(BqLeftovers, AreThoseOfTheDeadBesideAndInTheNextPlaces) {
  const TempDir dir;
  const std::string disk = dir / "disk", other = dir / "other";
  constexpr std::string_view kMeta = R"({"kind":"bigquery"})";
  const std::string beside = start({disk, other}, "20261115T090000Z", kMeta).folder();
  const std::string elsewhere = start({other}, "20261115T091000Z", kMeta).folder();
  start({other}, "20261115T092000Z", R"({"api_url":"https://example.org"})");
  const SpoolWriter alive = start({other}, "20261115T093000Z", kMeta);
  const SpoolWriter own = start({disk, other}, "20261115T094000Z", kMeta);

  std::vector<std::string> found;
  for (const SpoolRun& run : take_leftovers(own.folder())) found.push_back(run.folder());
  EXPECT_EQ(found, (std::vector{beside, elsewhere}));

  if (::getuid() != 0) return;
  // Somebody else's folder of that name is not looked into.
  ASSERT_EQ(::chown(other.c_str(), 65534, 65534), 0);
  EXPECT_EQ(take_leftovers(own.folder()).size(), 1U);
}

// For the same place by our own settings, and for no other.
TEST(Destinations, AreOurOwn) {
  const TempDir dir;
  const WithVariable endpoint("TACHO_S3_ENDPOINT", "https://minio.example/"),
      service("SENTINEL_API_URL", "http://127.0.0.1:1/api");
  HttpClient http;
  Notices notices(false);
  Delivering shared{http, notices, "", {}, {}};
  std::vector<std::unique_ptr<Delivery>> own;
  const auto sends = [&](const char* meta) {
    return std::any_of(own.begin(), own.end(), [&](const auto& run) { return run->sends_too(*parse_meta(meta)); });
  };
  for (const char* meta : {R"({"api_url":"","bucket_uri":""})", R"({"kind":"new"})", R"({"kind":"bucket"})"})
    EXPECT_FALSE(kind_of(*parse_meta(meta)));
  const auto add = [&](const char* meta) {
    own.push_back(
        make_delivery(SpoolRun(start({dir.path()}, "20261115T090000Z", meta).folder()), Role::beside, shared));
    own.back()->step();
  };
  EXPECT_FALSE(sends(R"({"api_url":"http://127.0.0.1:1/api"})"));
  add(R"({"api_url":"http://127.0.0.1:1/api"})");
  add(R"({"kind":"bucket","run":"r","bucket_uri":"s3://data/mine/"})");
  EXPECT_TRUE(sends(R"({"api_url":"http://127.0.0.1:1/api"})"));
  EXPECT_TRUE(sends(R"({"kind":"service","api_url":"http://127.0.0.1:1/api"})"));
  EXPECT_FALSE(sends(R"({"api_url":"https://evil"})"));
  EXPECT_FALSE(sends(R"({})"));
  EXPECT_FALSE(sends(R"({"kind":"bigquery"})"));
  EXPECT_TRUE(sends(R"({"run":"r","bucket_uri":"s3://data/mine"})"));
  EXPECT_TRUE(sends(R"({"run":"r","bucket_uri":"s3://data/mine","s3_endpoint":"https://minio.example"})"));
  EXPECT_FALSE(sends(R"({"run":"r","bucket_uri":"s3://data/mine","s3_endpoint":""})"));
  EXPECT_FALSE(sends(R"({"run":"r","bucket_uri":"s3://data/mine","s3_endpoint":"https://evil"})"));
  EXPECT_FALSE(sends(R"({"run":"r","bucket_uri":"s3://data/minefield"})"));
  EXPECT_FALSE(sends(R"({"run":"r","bucket_uri":"s3://other/mine","api_url":"http://127.0.0.1:1/api"})"));
}

class SetClock final : public Clock {
 public:
  int64_t monotonic_ns() override { return now_ns; }
  int64_t realtime_ns() override { return now_ns; }
  int wait(std::span<pollfd>, int64_t deadline_ns) override { return now_ns = deadline_ns, 0; }
  int64_t now_ns = 1'000'000'000;
};

// tacho is dead and its deliverer still has the run: this one looks again, more and more rarely, and takes it when it
// is free.
TEST(LeftoverRuns, InOtherHandsAreLookedAtAgain) {
  const TempDir dir;
  const WithVariable place("TACHO_SPOOL_DIR", dir.path()), service("SENTINEL_API_URL", "http://127.0.0.1:1/leftovers");
  constexpr std::string_view kMeta =
      R"({"run":"r","api_url":"http://127.0.0.1:1/leftovers","header":"timestamp","start":{}})";
  std::optional<SpoolWriter> orphan = start({dir.path()}, "20261115T090000Z", kMeta);
  const SpoolWriter alive = start({dir.path()}, "20261115T091000Z", kMeta);
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  spill(orphan->folder() + "/lock", std::to_string(dead) + "\n");

  SetClock clock;
  HttpClient http;
  Notices notices(false);
  Delivering shared{http, notices, "token", {}, {}, clock};
  Leftovers leftovers;
  const auto ours = [](const SpoolMeta& meta) { return meta.api_url == "http://127.0.0.1:1/leftovers"; };
  int looks = 0;
  for (const int64_t end_ns = clock.now_ns + int64_t{3600} * 1'000'000'000; clock.now_ns < end_ns; ++looks)
    clock.now_ns = std::max(clock.now_ns + 1, leftovers.step(shared, ours));
  EXPECT_GE(looks, 60);
  EXPECT_LE(looks, 70);  // not that of a living tacho, which would be never
  const std::string folder = orphan->folder();
  orphan.reset();
  clock.now_ns += int64_t{61} * 1'000'000'000;
  leftovers.step(shared, ours);
  EXPECT_FALSE(SpoolRun(folder).lock());
}

}  // namespace
}  // namespace tacho
