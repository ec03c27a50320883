#include "deliver/csv_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "codec/gunzip.h"
#include "deliver/batch_uploader.h"
#include "deliver/gzip_source.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class Rows : public testing::Test {
 protected:
  Rows() : writer_(std::move(*SpoolWriter::create({dir_ / "spool"}, "20261115T140000Z"))), run_(writer_.folder()) {
    writer_.set_header("timestamp,a\n");
  }
  void add(const std::string& row) {
    ASSERT_TRUE(writer_.append(row + "\n"));
    rows_ += row + "\n";
  }
  static std::string all(BodySource& source, size_t room) {
    std::string text, piece(room, '\0');
    for (size_t got = 0; (got = source.read(piece.data(), room)) > 0;) text.append(piece, 0, got);
    return text;
  }

  TempDir dir_;
  SpoolWriter writer_;
  SpoolRun run_;
  std::string rows_;
};

TEST_F(Rows, AreTheLastMemberOfTheBody) {
  for (int i = 0; i < 5000; ++i) {
    add(std::to_string(i) + ",12345678");
    ASSERT_TRUE(i % 1999 != 0 || writer_.seal()) << i;
  }
  add("6000,a \"quoted\" \\ \x01 \xff value");  // which no row has
  ASSERT_TRUE(writer_.seal());
  CsvSource csv(run_, "timestamp,a", run_.sealed());
  ASSERT_TRUE(csv.check());
  csv.put_into(R"({"data_source":"inline","exit_code":0})");
  const std::string text = all(csv, 100'000);
  EXPECT_EQ(static_cast<int64_t>(text.size()), csv.bytes());
  for (const size_t room : {1, 7, 4096}) {
    csv.rewind();
    ASSERT_EQ(all(csv, room), text) << room;
  }
  const auto body = nlohmann::json::parse(text);
  EXPECT_EQ(body.size(), 3u);
  EXPECT_EQ(body["exit_code"], 0);
  std::string expected = "timestamp,a\n" + rows_;
  expected.replace(expected.find('\xff'), 1, "\u00ff");
  EXPECT_EQ(body["data_csv"].get<std::string>(), expected);
}

// Incompressible enough that its pieces do not all fit into one buffer of zlib's.
TEST_F(Rows, CompressedWhileTheyAreSent) {
  uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) add(std::to_string(state = state * 6364136223846793005u + 1442695040888963407u));
  ASSERT_TRUE(writer_.seal());
  CsvSource csv(run_, "timestamp,a", run_.sealed());
  ASSERT_TRUE(csv.check());
  csv.put_into(R"({"exit_code":0})");
  const std::string text = all(csv, 100'000);
  GzipSource gzipped(csv);
  const std::string bytes = all(gzipped, 100'000);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), gzipped.bytes());
  EXPECT_LT(bytes.size(), text.size() / 2 + 40);
  std::string plain;
  GzipDecoder decoder;
  EXPECT_TRUE(decoder.decode(bytes, plain));
  EXPECT_EQ(plain, text);
  for (const size_t room : {1, 4096}) {
    gzipped.rewind();
    ASSERT_EQ(all(gzipped, room), bytes) << room;
  }
}

// The segment goes away between the two passes: what is sent is shorter than what was promised, and not a whole gzip
// file.
TEST_F(Rows, CompressedAndCutOffAreNotTakenForWhole) {
  add("1,2");
  ASSERT_TRUE(writer_.seal());
  CsvSource csv(run_, "timestamp,a", run_.sealed());
  ASSERT_TRUE(csv.check());
  csv.put_into(R"({"exit_code":0})");
  GzipSource gzipped(csv);
  std::filesystem::remove(run_.sealed()[0].path);
  EXPECT_LT(static_cast<int64_t>(all(gzipped, 4096).size()), gzipped.bytes());
}

TEST_F(Rows, OfARunWithoutAny) {
  CsvSource csv(run_, "timestamp,a", {});
  ASSERT_TRUE(csv.check());
  csv.put_into(R"({"x":1})");
  EXPECT_EQ(all(csv, 3), R"({"x":1,"data_csv":"timestamp,a\n"})");
}

TEST_F(Rows, DamageIsNoticedBeforeAnythingIsSent) {
  add("1,2");
  ASSERT_TRUE(writer_.seal());
  spill(run_.sealed()[0].path, "timestamp,a\n1,3\n");
  EXPECT_FALSE(CsvSource(run_, "timestamp,a", run_.sealed()).check());
  EXPECT_FALSE(packed(run_, run_.sealed()[0]));
}

// A segment of every size becomes one gzip file, and the same bytes when it is made again.
TEST_F(Rows, PackedInOnePieceOrInMany) {
  for (const int rows : {1, 20'000, 100'000}) {
    rows_.clear();
    for (int i = 0; i < rows; ++i) add(std::to_string(i * 7919) + ",1.25");
    ASSERT_TRUE(writer_.seal());
    const auto bytes = packed(run_, run_.sealed().back());
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
    EXPECT_EQ(*packed(run_, run_.sealed().back()), *bytes);
    std::string text;
    GzipDecoder decoder;
    EXPECT_TRUE(decoder.decode(*bytes, text));
    EXPECT_EQ(text, "timestamp,a\n" + rows_);
    EXPECT_LT(bytes->size(), text.size() + 40);
  }
}

}  // namespace
}  // namespace tacho
