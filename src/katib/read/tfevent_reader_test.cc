// Folders of event files: tags, growth, restarts, broken and passing files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "katib/read/growing_file.h"
#include "katib/read/tfevent_test_support.h"

namespace tacho {
namespace {

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
