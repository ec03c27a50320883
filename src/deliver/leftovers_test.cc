// What TACHO_SPOOL_MAX may say, and whose runs are sent by the way.
#include "deliver/leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(SpoolBytes, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_spool_bytes("1073741824"), int64_t{1} << 30);
  EXPECT_EQ(parse_spool_bytes("512k"), 512 << 10);
  EXPECT_EQ(parse_spool_bytes("500M"), int64_t{500} << 20);
  EXPECT_EQ(parse_spool_bytes("500MB"), int64_t{500} << 20);
  EXPECT_EQ(parse_spool_bytes("1.5 GiB"), int64_t{3} << 29);
  EXPECT_EQ(parse_spool_bytes("2T"), int64_t{2} << 40);
}

TEST(SpoolBytes, GarbageIsNoSize) {
  for (const char* text : {"", "M", "0", "-1", "1e9", "12 apples", "1 2", "1.2.3", "5X", "5ib", "99999999999999T", "nan", "inf"})
    EXPECT_FALSE(parse_spool_bytes(text)) << text;
}

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
  for (const SpoolRun& run : take_bq_leftovers(own.folder())) found.push_back(run.folder());
  EXPECT_EQ(found, (std::vector{beside, elsewhere}));

  if (::getuid() != 0) return;
  // Somebody else's folder of that name is not looked into.
  ASSERT_EQ(::chown(other.c_str(), 65534, 65534), 0);
  EXPECT_EQ(take_bq_leftovers(own.folder()).size(), 1U);
}

}  // namespace
}  // namespace tacho
