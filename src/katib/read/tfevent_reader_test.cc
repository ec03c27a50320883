// Event files: framing, numbers, tags, growth, restarts. The files of tests/fixtures/tfevents are made by
// make_tfevents.py.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "katib/read/event.h"
#include "katib/read/event_number.h"
#include "katib/read/growing_file.h"
#include "katib/read/readers.h"

namespace tacho {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;

class TfeventTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tacho-tfevent-XXXXXX";
    folder_ = ::mkdtemp(name);
    options_.metrics = {"loss"};
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string fixture(const std::string& name) { return std::string(TACHO_FIXTURES) + "/tfevents/" + name; }
  static std::string bytes_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static std::string one_file(const std::string& name) {
    return bytes_of(fixture(name) + "/events.out.tfevents.1700000000.host");
  }
  void put(const std::string& name, const std::string& bytes, bool append = false) const {
    const fs::path path = fs::path(folder_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | (append ? std::ios::app : std::ios::trunc)) << bytes;
  }

  Rows rows(Reader& reader, bool at_end = true, size_t limit = 1000) const {
    Rows found;
    for (bool more = true; more;)
      more = *reader.read(at_end, limit, [&](MetricRow&& row) { found.push_back(row.name + "=" + row.value); });
    return found;
  }
  Rows rows(const std::string& name) {
    const auto reader = make_tfevent_reader(fixture(name), options_);
    Rows found = rows(*reader);
    counts_ = reader->counts();
    return found;
  }
  Rows ordered(const std::string& name) {
    options_.report_at_end = true;
    return rows(name);
  }

  std::string folder_;
  ReaderOptions options_;
  ReaderCounts counts_;
};

TEST_F(TfeventTest, SimpleValues) {
  options_.metrics = {"accuracy", "loss"};
  EXPECT_EQ(rows("plain"), (Rows{"loss=1.0", "accuracy=0.5", "loss=0.5", "accuracy=0.6000000238418579",
                                 "loss=0.3333333432674408", "accuracy=0.699999988079071"}));
  EXPECT_EQ(ordered("plain"), (Rows{"loss=1.0", "loss=0.5", "loss=0.3333333432674408", "accuracy=0.5",
                                    "accuracy=0.6000000238418579", "accuracy=0.699999988079071"}));
  const auto reader = make_tfevent_reader(fixture("plain"), options_);
  std::vector<MetricRow> all;
  ASSERT_TRUE(reader->read(true, 100, [&](MetricRow&& row) { all.push_back(std::move(row)); }));
  EXPECT_EQ(all[1].time_stamp, "2023-11-14T22:13:21.250000Z");
  EXPECT_EQ(all[1].step, 1);
}

TEST_F(TfeventTest, Tensors) {
  EXPECT_EQ(rows("tensors"), (Rows{"loss=0.1", "loss=0.1", "loss=-3", "loss=1099511627776", "loss=0.1", "loss=1e-05",
                                   "loss=1e+20", "loss=2.0", "loss=0.0", "loss=0.10000000149011612"}));
  EXPECT_EQ(ordered("tensors").back(), "loss=0.10000000149011612");
}

TEST_F(TfeventTest, FoldersOfAMetricsName) {
  EXPECT_EQ(rows("runs"), (Rows{"loss=3.0", "loss=2.0", "loss=1.0", "loss=7.0"}));
  options_.metrics = {"test/loss"};
  EXPECT_EQ(rows("runs"), (Rows{"test/loss=3.0", "test/loss=2.0"})) << "latest ends with test";
  options_.metrics = {"train/loss"};
  EXPECT_EQ(rows("runs"), (Rows{"train/loss=1.0", "train/loss=7.0"}));
  EXPECT_EQ(ordered("runs"), (Rows{"train/loss=1.0", "train/loss=7.0"}));
  options_.metrics = {"/loss"};
  EXPECT_EQ(rows("runs"), Rows{});
}

TEST_F(TfeventTest, TagsOfTheTachoProfile) {
  options_.set_profile(Profile::tacho);
  options_.metrics = {"train/loss"};
  EXPECT_EQ(rows("runs"), (Rows{"train/loss=1.0"}));
  options_.metrics = {"test/loss"};
  EXPECT_EQ(rows("runs"), (Rows{"test/loss=4.0"})) << "a tag of the whole name is better than the folder's";
  EXPECT_EQ(ordered("runs"), (Rows{"test/loss=4.0"}));
  options_.metrics = {"loss_a"};
  EXPECT_EQ(rows("runs"), (Rows{"loss_a=7.0"})) << "by its beginning, since there is no better";
  options_.report_at_end = false;
  EXPECT_EQ(rows("runs"), (Rows{"loss_a=7.0"}));
}

TEST_F(TfeventTest, ABetterTagIsLookedForAhead) {
  options_.set_profile(Profile::tacho);
  options_.metrics = {"accuracy"};
  EXPECT_EQ(rows("plain").size(), 3u);
  options_.metrics = {"acc"};
  EXPECT_EQ(rows("plain").size(), 3u);
  options_.metrics = {"loss_one"};
  EXPECT_EQ(rows("tensors"), (Rows{"loss_one=2.0"}));
  options_.metrics = {"loss_int"};  // loss_int, then loss_int64
  EXPECT_EQ(rows("tensors"), (Rows{"loss_int=-3"}));
}

TEST_F(TfeventTest, RestartsPurgeExactlyAtTheEnd) {
  EXPECT_EQ(ordered("restart"), (Rows{"loss=1.0", "loss=2.0", "loss=3.0", "loss=1.0", "loss=20.0", "loss=30.0"}));
  options_.metrics = {"loss", "other"};
  EXPECT_EQ(ordered("old"), (Rows{"loss=1.0", "loss=20.0", "loss=30.0", "other=1.0", "other=2.0", "other=3.0"}));
  options_.report_at_end = false;
  EXPECT_EQ(rows("old").size(), 8u);
}

TEST_F(TfeventTest, BrokenFiles) {
  EXPECT_EQ(rows("truncated"), Rows{"loss=1.0"});
  EXPECT_EQ(counts_.bad_records, 0u);
  EXPECT_EQ(rows("bad_payload"), (Rows{"loss=1.0", "loss=3.0", "loss=4.0"})) << "only the one record is lost";
  EXPECT_EQ(counts_.bad_records, 1u);
  EXPECT_EQ(rows("bad_length"), (Rows{"loss=1.0", "loss=4.0"})) << "the other file goes on";
  EXPECT_EQ(ordered("bad_length"), (Rows{"loss=1.0", "loss=4.0"}));
  EXPECT_EQ(counts_.bad_records, 1u);
  EXPECT_EQ(ordered("bad_payload"), (Rows{"loss=1.0", "loss=3.0", "loss=4.0"}));
}

TEST_F(TfeventTest, GrowsByteByByte) {
  const std::string bytes = one_file("plain");
  const auto reader = make_tfevent_reader(folder_, options_);
  EXPECT_EQ(rows(*reader, false), Rows{});
  size_t seen = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    put("run/events.out.tfevents.1", bytes.substr(size, 1), true);
    seen += rows(*reader, false).size();
    EXPECT_LE(seen, size / 100 + 1);
  }
  EXPECT_EQ(seen, 3u);
  EXPECT_EQ(reader->folders(), (std::vector<std::string>{folder_, folder_ + "/run"}));
  EXPECT_FALSE(reader->restarted());
}

TEST_F(TfeventTest, SeveralWritersAndAPlaceAfterAnyLimit) {
  options_.metrics = {"loss", "accuracy"};
  put("a/x.tfevents.1", one_file("plain"));
  put("a/x.tfevents.2", one_file("restart"));
  put("b/x.tfevents.1", one_file("tensors"));
  for (const bool at_end : {false, true}) {
    options_.report_at_end = at_end;
    const Rows all = rows(*make_tfevent_reader(folder_, options_));
    EXPECT_EQ(all.size(), at_end ? 22u : 24u);
    for (const size_t limit : {1, 2, 5}) {
      Rows seen;
      std::string position;
      for (bool more = true; more;) {
        const auto reader = make_tfevent_reader(folder_, options_);
        ASSERT_TRUE(reader->seek(position));
        more = *reader->read(true, limit, [&](MetricRow&& row) { seen.push_back(row.name + "=" + row.value); });
        position = reader->position();
      }
      EXPECT_EQ(seen, all) << limit;
    }
  }
}

TEST_F(TfeventTest, MovedTruncatedAndReplacedFiles) {
  const std::string bytes = one_file("plain");
  put("x.tfevents", bytes);
  const auto reader = make_tfevent_reader(folder_, options_);
  EXPECT_EQ(rows(*reader, false).size(), 3u);
  fs::rename(folder_ + "/x.tfevents", folder_ + "/y.tfevents");
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  fs::resize_file(folder_ + "/y.tfevents", 0);
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  EXPECT_TRUE(reader->restarted());
  put("y.tfevents", bytes, true);
  EXPECT_EQ(rows(*reader, false).size(), 3u);
  put("z.tfevents", bytes);
  fs::rename(folder_ + "/z.tfevents", folder_ + "/y.tfevents");
  EXPECT_EQ(rows(*reader, false).size(), 3u);
}

TEST_F(TfeventTest, LinkedFoldersAreNotEntered) {
  put("x.tfevents", one_file("plain"));
  fs::create_directory_symlink(folder_, folder_ + "/loop");
  fs::create_symlink(folder_ + "/x.tfevents", folder_ + "/y.tfevents");
  EXPECT_EQ(rows(*make_tfevent_reader(folder_ + "//", options_)).size(), 6u);
}

std::string record_of(const std::string& payload) {
  std::string record(8, '\0');
  const uint64_t size = payload.size();
  std::memcpy(record.data(), &size, 8);
  const uint32_t crc = masked_crc(record), payload_crc = masked_crc(payload);
  return record.append(reinterpret_cast<const char*>(&crc), 4)
      .append(payload)
      .append(reinterpret_cast<const char*>(&payload_crc), 4);
}

// A field of bytes.
std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  return out + static_cast<char>(size) + bytes;
}

std::string scalar(const std::string& tag, float value) {
  std::string out = field(1, tag) + "\x15";
  return field(1, out.append(reinterpret_cast<const char*>(&value), 4));
}

// Summaries that were merged are one record: what is large in it does not hide what is small.
TEST_F(TfeventTest, ScalarsBesideAnImage) {
  options_.metrics = {"loss", "acc"};
  const std::string image = field(1, field(1, "img") + field(4, field(4, std::string(5 << 20, 'i'))));
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9), step("\x10\x07");
  const std::string event =
      time + field(5, scalar("loss", 1) + image + scalar("loss", 2) + scalar("acc", 3) + image) + step;
  std::string wrong = record_of(event);
  wrong[wrong.size() / 2] ^= 1;
  put("x.tfevents", record_of(event) + wrong + record_of(time + field(5, scalar("loss", 4))));
  const auto reader = make_tfevent_reader(folder_, options_);
  std::vector<MetricRow> all;
  ASSERT_TRUE(reader->read(true, 100, [&](MetricRow&& row) { all.push_back(std::move(row)); }));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].value + all[1].value + all[2].value + all[3].value, "1.02.03.04.0");
  EXPECT_EQ(all[2].name, "acc");
  EXPECT_EQ(all[2].step, 7);
  EXPECT_EQ(all[2].time_stamp, "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(reader->counts().bad_records, 1u);
}

// Rows on their way are read again as they were, though every file has grown meanwhile.
TEST_F(TfeventTest, StopsAtAPlace) {
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9);
  const auto event = [&](float value) { return record_of(time + field(5, scalar("loss", value))); };
  put("a.tfevents", event(1));
  put("b.tfevents", event(2));
  const auto reader = make_tfevent_reader(folder_, options_);
  EXPECT_EQ(rows(*reader, false), (Rows{"loss=1.0", "loss=2.0"}));
  const std::string to = reader->position();
  put("a.tfevents", event(3), true);
  put("aa.tfevents", event(4));
  put("b.tfevents", event(5), true);
  const auto second = make_tfevent_reader(folder_, options_);
  ASSERT_TRUE(second->stop_at(to));
  EXPECT_EQ(rows(*second, false), (Rows{"loss=1.0", "loss=2.0"}));
  ASSERT_TRUE(second->stop_at(""));
  EXPECT_EQ(rows(*second, false), (Rows{"loss=3.0", "loss=4.0", "loss=5.0"}));
  EXPECT_FALSE(second->stop_at("{"));
}

// What one record holds does not fit into a chunk: it is passed on in parts, and a restart goes on in the middle of it.
TEST_F(TfeventTest, VeryManyValuesInOneRecord) {
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9);
  const std::string image = field(1, field(1, "img") + field(4, field(4, std::string(2 << 20, 'i'))));
  std::string scalars;
  for (int i = 0; i < 100; ++i) scalars += scalar(i % 3 == 0 ? "other" : "loss", static_cast<float>(i));
  for (const bool large : {false, true}) {
    const std::string event = record_of(time + field(5, scalars + (large ? image : "")));
    put("x.tfevents", event + event);
    for (const bool at_end : {false, true}) {
      options_.report_at_end = at_end;
      const Rows all = rows(*make_tfevent_reader(folder_, options_));
      ASSERT_EQ(all.size(), 132u);
      Rows seen;
      std::string position, first_end;
      for (bool more = true; more;) {
        const auto reader = make_tfevent_reader(folder_, options_);
        ASSERT_TRUE(reader->seek(position));
        const size_t before = seen.size();
        more = *reader->read(true, 7, [&](MetricRow&& row) { seen.push_back(row.name + "=" + row.value); });
        EXPECT_LE(seen.size(), before + 7);
        position = reader->position();
        if (first_end.empty()) first_end = position;
      }
      EXPECT_EQ(seen, all);
      if (at_end) continue;
      const auto reader = make_tfevent_reader(folder_, options_);
      ASSERT_TRUE(reader->stop_at(first_end));
      EXPECT_EQ(rows(*reader, true), Rows(all.begin(), all.begin() + 7));
      ASSERT_TRUE(reader->stop_at(""));
      EXPECT_EQ(rows(*reader, true), Rows(all.begin() + 7, all.end()));
    }
  }
}

// More small values than are kept of a large record at a time: it is read several times, and none is missing.
TEST_F(TfeventTest, MoreValuesThanAreKeptOfALargeRecord) {
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9);
  std::string scalars;
  for (int i = 0; i < 130'000; ++i) scalars += scalar(i % 100 == 0 ? "loss" : "o", static_cast<float>(i));
  const std::string event = record_of(time + field(5, scalars));
  ASSERT_GT(event.size(), size_t{1} << 20);
  put("x.tfevents", event + record_of(time + field(5, scalar("loss", -1))));
  for (const bool at_end : {false, true}) {
    options_.report_at_end = at_end;
    const Rows all = rows(*make_tfevent_reader(folder_, options_));
    ASSERT_EQ(all.size(), 1301u);
    EXPECT_EQ(all[1299], "loss=129900.0");
    EXPECT_EQ(all[1300], "loss=-1.0");
    for (const size_t limit : {333, 1000, 1300}) {
      Rows seen;
      std::string position, middle;
      for (bool more = true; more;) {
        const auto reader = make_tfevent_reader(folder_, options_);
        ASSERT_TRUE(reader->seek(position));
        more = *reader->read(true, limit, [&](MetricRow&& row) { seen.push_back(row.name + "=" + row.value); });
        position = reader->position();
        if (seen.size() == 2 * limit || (limit == 1000 && middle.empty())) middle = position;
      }
      EXPECT_EQ(seen, all) << limit;
      if (at_end || middle.empty()) continue;
      const auto reader = make_tfevent_reader(folder_, options_);
      ASSERT_TRUE(reader->stop_at(middle));
      EXPECT_EQ(rows(*reader, true).size(), limit == 1000 ? 1000 : 2 * limit);
      ASSERT_TRUE(reader->stop_at(""));
      EXPECT_EQ(rows(*reader, true).size(), all.size() - (limit == 1000 ? 1000 : 2 * limit));
    }
  }
}

TEST_F(TfeventTest, NoticesANewBeginningWithoutReading) {
  const std::string bytes = one_file("plain");
  put("x.tfevents", bytes + bytes);
  const auto reader = make_tfevent_reader(folder_, options_);
  reader->want_rows(false);
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  put("x.tfevents", bytes, true);
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  EXPECT_FALSE(reader->restarted());
  put("x.tfevents", "");
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  EXPECT_TRUE(reader->restarted());
  put("x.tfevents", bytes, true);
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  EXPECT_FALSE(reader->restarted());
  reader->want_rows(true);
  put("x.tfevents", bytes, true);
  EXPECT_EQ(rows(*reader, false).size(), 6u) << "what was not read before";
}

TEST(Event, PlainTagIsWhatTheParserFinds) {
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9), value = scalar("loss", 1);
  EXPECT_EQ(plain_tag(time + field(5, value)), "loss");
  EXPECT_EQ(plain_tag(time + "\x10\x07" + field(5, value)), "loss");
  EXPECT_EQ(plain_tag(time + "\x10\xff\xff\x03" + field(5, value)), "loss");
  for (const std::string& other :
       {std::string(), time, time + "\x10\xff", time + field(5, value + value), time + field(5, value) + "\x10\x07",
        "\x10\x07" + time + field(5, value), time + field(5, field(1, field(1, "loss"))),
        time + field(5, field(2, "lossloss")), time + field(5, scalar(std::string(130, 'l'), 1)),
        time + field(5, field(1, field(1, "a") + field(1, "loss") + "1234"))})
    EXPECT_EQ(plain_tag(other), "");
}

TEST_F(TfeventTest, LargeRecordsArePassedOver) {
  const std::string bytes = one_file("plain");
  const TfRecord first = first_record(bytes);
  const std::string record = record_of(field(4, std::string(3 << 20, 'g')));  // a graph
  put("x.tfevents", bytes.substr(0, first.size) + record.substr(0, 2 << 20));
  const auto reader = make_tfevent_reader(folder_, options_);
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  put("x.tfevents", record.substr(2 << 20) + bytes.substr(first.size), true);
  EXPECT_EQ(rows(*reader, false).size(), 3u);
  EXPECT_EQ(reader->counts().bad_records, 0u);
}

TEST(EventNumber, AsTheExistingCollectorPrints) {
  const auto text = [](auto value) {
    std::string out;
    put_number(out, value);
    return out;
  };
  EXPECT_EQ(text(0.0), "0.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(1.0), "1.0");
  EXPECT_EQ(text(123456789.0), "123456789.0");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(1.5e-7), "1.5e-07");
  EXPECT_EQ(text(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(-1.25e300), "-1.25e+300");
  EXPECT_EQ(text(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(text(0.1f), "0.1");
  EXPECT_EQ(text(16777216.0f), "16777216.0");
  EXPECT_EQ(text(3.4028235e38f), "3.4028235e+38");
}

TEST(EventNumber, EveryHalfReadsBack) {
  std::string text;
  put_half(text, 0x3555);
  EXPECT_EQ(text, "0.3333");
  for (const auto& [bits, expected] : {std::pair<uint16_t, const char*>{0x0001, "6e-08"},
                                       {0x7bff, "65500.0"},
                                       {0x3c00, "1.0"},
                                       {0xc000, "-2.0"},
                                       {0x7c00, "inf"},
                                       {0x0000, "0.0"}}) {
    text.clear();
    put_half(text, bits);
    EXPECT_EQ(text, expected);
  }
}

TEST(Event, RefusesWhatIsNone) {
  Event event;
  EXPECT_TRUE(parse_event("", event));
  EXPECT_FALSE(parse_event("\x09only", event));
  EXPECT_FALSE(parse_event("\x2a\x7fshort", event));
  EXPECT_FALSE(parse_event(std::string(12, '\xff'), event));
  EXPECT_EQ(file_version_number("brain.Event:2"), 2);
  EXPECT_EQ(file_version_number("brain.Event:"), -1);
  EXPECT_EQ(file_version_number("x"), -1);
}

// An error that passes is no end of a file: whatever fails and whenever, every row comes once.
TEST_F(TfeventTest, PassingErrorsLoseAndDoubleNothing) {
  struct Failures {
    static int& preads() {
      static int left = 0;
      return left;
    }
    static int& after() {
      static int left = 0;
      return left;
    }
    Failures() : before(GrowingFile::calls) {
      GrowingFile::calls.pread = [](int fd, void* to, size_t size, off_t offset) {
        if (after() > 0 && after()-- > 0) return ::pread(fd, to, size, offset);
        return preads() > 0 && preads()-- > 0 ? (errno = EIO, ssize_t{-1}) : ::pread(fd, to, size, offset);
      };
    }
    ~Failures() { GrowingFile::calls = before, preads() = after() = 0; }
    GrowingFile::Calls before;
  } failures;
  const std::string file = one_file("plain");
  const Rows expected{"loss=1.0", "loss=0.5", "loss=0.3333333432674408"};
  for (const bool ordered : {false, true}) {
    options_.report_at_end = ordered;
    for (int after = 0; after < 8; ++after) {
      for (int count = 1; count < 4; ++count) {
        put("events.out.tfevents.1", file);
        const auto reader = make_tfevent_reader(folder_, options_);
        Rows found;
        Failures::after() = after;
        Failures::preads() = count;
        bool failed = false, done = false;
        for (int tries = 0; tries < 40 && !done; ++tries) {
          const auto more =
              reader->read(true, 1, [&](MetricRow&& row) { found.push_back(row.name + "=" + row.value); });
          failed = failed || !more;
          done = more && !*more;
        }
        EXPECT_EQ(found, expected) << ordered << after << count;
        EXPECT_EQ(reader->counts().bad_records, 0u);
        EXPECT_TRUE(failed || Failures::preads() + Failures::after() > 0);
        Failures::preads() = Failures::after() = 0;
      }
    }
  }
}

// What a trainer can leave in its folder beside event files.
TEST_F(TfeventTest, StrangeFilesAreNoEventFiles) {
  put("events.out.tfevents.1", one_file("plain"));
  ASSERT_EQ(::mkfifo((folder_ + "/fifo.tfevents.2").c_str(), 0666), 0);
  fs::create_symlink(folder_, folder_ + "/loop");
  fs::create_symlink(folder_ + "/self.tfevents", folder_ + "/self.tfevents");
  fs::create_symlink("/dev/zero", folder_ + "/zero.tfevents");
  fs::create_directory(folder_ + "/folder.tfevents");
  for (int i = 0; i < 200; ++i) put("many/" + std::to_string(i), "");
  std::string deep = folder_;
  for (int i = 0; i < 100; ++i) deep += "/d";
  fs::create_directories(deep);
  const auto reader = make_tfevent_reader(folder_, options_);
  EXPECT_EQ(rows(*reader), (Rows{"loss=1.0", "loss=0.5", "loss=0.3333333432674408"}));
  EXPECT_LT(reader->folders().size(), 100u);
}

}  // namespace
}  // namespace tacho
