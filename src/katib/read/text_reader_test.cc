// TEXT logs: which rows come of a line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/text.h"
#include "katib/read/filter.h"
#include "katib/read/needles.h"
#include "katib/read/readers.h"
#include "support/count_allocations.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class TextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tacho-text-XXXXXX";
    const int fd = ::mkstemp(name);
    ::close(fd);
    path_ = name;
    options_.metrics = {"loss", "acc"};
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  // The rows of a log, as "name=value@time" with the zero time left out.
  std::vector<std::string> rows(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    auto reader = make_text_reader(path_, options_);
    if (!reader) return {"error: " + reader.error().message()};
    std::vector<std::string> found;
    for (bool more = true; more;)
      more = *(*reader)->read(true, 1000, [&](MetricRow&& row) {
        found.push_back(row.name + "=" + row.value +
                        (row.time_stamp == "0001-01-01T00:00:00Z" ? "" : "@" + row.time_stamp.str()));
      });
    counts_ = (*reader)->counts();
    return found;
  }
  using Rows = std::vector<std::string>;

  std::string path_;
  ReaderOptions options_;
  ReaderCounts counts_;
};

TEST_F(TextTest, DefaultFilter) {
  EXPECT_EQ(rows("epoch 1: loss=0.3, acc = 91.5%\n"), (Rows{"loss=0.3", "acc=91.5"}));
  EXPECT_EQ(rows("loss=1e-3 loss=-2.5E+10 loss=+7 loss=.5 loss=3. loss=4e loss=5e+\n"),
            (Rows{"loss=1e-3", "loss=-2.5E+10", "loss=+7", "loss=.5", "loss=3", "loss=4", "loss=5"}));
  EXPECT_EQ(rows("my loss=1\ntrain/loss=2\ntrain_loss=3\nx.loss=4\n-loss=5\nlosses=6\nloss|x=7\n"),
            (Rows{"loss=1", "loss=2", "loss=4"}));
  EXPECT_EQ(rows("loss\t=\t1\r\nloss:2\nLOSS=3\n"), (Rows{"loss=1"}));
  EXPECT_EQ(rows("loss=1loss=2=3 loss==4\n"), (Rows{"loss=1", "loss=2"}));
  EXPECT_EQ(rows("caf\xc3\xa9loss=1 \xff\xfeloss=2\xff\n"), (Rows{"loss=1", "loss=2"}));
  EXPECT_EQ(rows(std::string("a\0loss=1\0b\nloss\0=2\n", 19)), (Rows{"loss=1"}));
}

TEST_F(TextTest, TimeStampIsTheFirstWord) {
  EXPECT_EQ(rows("2026-11-15T09:30:00.123456789012Z loss=1\n"), (Rows{"loss=1@2026-11-15T09:30:00.123456789012Z"}));
  EXPECT_EQ(rows("2026-11-15T09:30:00+05:30 loss=1 acc=2\n"),
            (Rows{"loss=1@2026-11-15T09:30:00+05:30", "acc=2@2026-11-15T09:30:00+05:30"}));
  EXPECT_EQ(rows("2026-11-15 09:30:00 loss=1\n 2026-11-15T09:30:00Z loss=2\n2026-11-15T09:30:00Z\tloss=3\nloss=4\n"),
            (Rows{"loss=1", "loss=2", "loss=3", "loss=4"}));
}

// Whoever reads a log beside the one who reports it needs none, and the times are looked at once.
TEST_F(TextTest, TimesThatNobodyNeedsAreNotRead) {
  options_.with_times = false;
  EXPECT_EQ(rows("2026-11-15T09:30:00Z loss=1 acc=2\nloss=3\n"), (Rows{"loss=1", "acc=2", "loss=3"}));
}

TEST_F(TextTest, ArrivalTimes) {
  options_.set_profile(Profile::tacho);
  options_.now_ns = [] { return int64_t{5'000'000'000}; };
  EXPECT_EQ(rows("loss=1\n2026-11-15T09:30:00Z loss=2\nloss=3\n"),
            (Rows{"loss=1@1970-01-01T00:00:05.000000Z", "loss=2@2026-11-15T09:30:00Z",
                  "loss=3@1970-01-01T00:00:05.000001Z"}));
}

TEST_F(TextTest, NonFiniteAndEmptyValues) {
  const std::string log = "loss=nan\nloss=-inf\nloss=Infinity\nloss = +NaN.\nloss=\nloss=information\nacc=-\nacc=1\n";
  EXPECT_EQ(rows(log), (Rows{"acc=-", "acc=1"}));
  EXPECT_EQ(counts_.non_finite, 4u);
  EXPECT_EQ(counts_.empty_values, 2u);
  options_.non_finite = NonFinite::report;
  EXPECT_EQ(rows(log), (Rows{"loss=NaN", "loss=-Inf", "loss=+Inf", "loss=NaN", "acc=-", "acc=1"}));
  options_.non_finite = NonFinite::unavailable;
  EXPECT_EQ(rows("loss=nan\nloss=\n"), (Rows{"loss=unavailable"}));
}

TEST_F(TextTest, FiltersInTheirOrder) {
  options_.filters = {R"(\{metric: (\w+), value: ([^}]*)\})", R"((\w+)=(\S+))"};
  EXPECT_EQ(rows("acc=1 {metric: loss, value:  a string } loss=2\n"), (Rows{"loss=a string", "acc=1", "loss=2"}));
  options_.filters = {R"((\w+)=(\d+))", R"((\w+)=(\d+))"};
  EXPECT_EQ(rows("loss=1\n"), (Rows{"loss=1", "loss=1"}));
  options_.filters = {R"((?<name>[\w.]+)\s(?P<value>[^ ]+))"};
  options_.metrics = {"val.loss"};
  EXPECT_EQ(rows("val.loss 0.5 val.loss nan\n"), (Rows{"val.loss=0.5"}));
  EXPECT_EQ(counts_.non_finite, 1u);
  options_.metrics = {"l\xc3\xb6ss"};
  options_.filters = {R"((\pL+)=(\S*))"};
  EXPECT_EQ(rows("l\xc3\xb6ss=1\xff\xfe l\xc3\xb6ss=\xc2\xa0\n"), (Rows{"l\xc3\xb6ss=1\xef\xbf\xbd\xef\xbf\xbd"}));
}

TEST_F(TextTest, AnchorsSeeTheWholeLine) {
  options_.filters = {R"(^(\w+)=(\d))"};
  EXPECT_EQ(rows("loss=1loss=2\nacc=3\n"), (Rows{"loss=1", "acc=3"}));
  options_.filters = {R"(\b(\w+)=(\d))"};
  EXPECT_EQ(rows("loss=1acc=2\n"), (Rows{"loss=1"}));
}

TEST_F(TextTest, ManyNamesOneOfWhichIsInAnother) {
  options_.metrics = {"validation_loss", "loss", "", "a\nb", "x"};
  EXPECT_EQ(rows("validation_loss=1 loss=2\nnothing\nx=3\n"), (Rows{"validation_loss=1", "loss=2", "x=3"}));
}

TEST_F(TextTest, LinesWithoutAMetricAllocateNothing) {
  std::string log = "loss=1\n";
  for (int i = 0; i < 20'000; ++i)
    log += "a line of some length without any metric, number " + std::to_string(i) + "\n";
  std::ofstream(path_, std::ios::binary) << log;
  const auto reader = std::move(*make_text_reader(path_, options_));
  size_t rows = 0;
  const Reader::Take take = [&](MetricRow&&) { ++rows; };
  ASSERT_TRUE(*reader->read(false, 1, take));  // the buffer is there now
  const int64_t before = allocations;
  while (*reader->read(false, 1, take)) {}
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(rows, 1u);
}

TEST(Filter, WrongOnesAreNamed) {
  const auto message = [](const std::vector<std::string>& filters) {
    return compile_filters(filters).error().message();
  };
  EXPECT_NE(message({"(a)(b)", "(a"}).find("metric filter 2 '(a': missing ): (a at position 1"), std::string::npos)
      << message({"(a)(b)", "(a"});
  EXPECT_NE(message({"(a)b**(c)"}).find("at position 5"), std::string::npos) << message({"(a)b**(c)"});
  EXPECT_NE(message({"(a)[z-a](c)"}).find("at position 5"), std::string::npos) << message({"(a)[z-a](c)"});
  EXPECT_NE(message({"(a)(c))"}).find("at position 7"), std::string::npos) << message({"(a)(c))"});
  EXPECT_NE(message({"(a)(?:c)"}).find("one group"), std::string::npos);
  EXPECT_NE(message({"a"}).find("no group"), std::string::npos);
  EXPECT_EQ(compile_filters({"(a"}).error().code, Code::invalid);
  EXPECT_TRUE(compile_filters({}));
  EXPECT_TRUE(compile_filters({R"([(]?(a)[])](\(b))", R"(\Q(?<\E(a)(b))"}));
}

// Go: an empty match is dropped where it touches the match before.
TEST(Filter, FindAllAsGoDoes) {
  const auto all = [](const char* filter, const char* line) {
    std::string text;
    Filter::compile(filter, 1)->find_all(line, [&](const FilterMatch& match) {
      text += "<" + std::string(match.name) + "," + std::string(match.value) + ">";
      return true;
    });
    return text;
  };
  EXPECT_EQ(all("(a*)(b*)", "ab"), "<a,b>");
  EXPECT_EQ(all("(a*)(b*)", "xab"), "<,><a,b>");
  EXPECT_EQ(all("(a*)(b*)", "abx"), "<a,b><,>");
  EXPECT_EQ(all("(a|ab)(c|bcd)", "abcd"), "<a,bcd>");
  EXPECT_EQ(all("()()", "\xc3\xa9x"), "<,><,><,>");
  EXPECT_EQ(all("(a)|(b)", "ba"), "<,b><a,>");
}

// The matcher of the default filter finds what its regular expression finds.
TEST(Filter, DefaultMatcherIsIdentical) {
  const std::string same = std::string("(?:") + kDefaultFilter + ")";  // another text: compiled by RE2
  Filter regex = std::move(*Filter::compile(same, 1)), fast = std::move(*Filter::compile(kDefaultFilter, 1));
  ASSERT_TRUE(fast.is_default() && !regex.is_default());
  regex.use_re2();
  std::mt19937 random(7);
  const std::string letters = "ab1.0eE+-= \t\r|_=%,xx\v";
  for (int i = 0; i < 200'000; ++i) {
    std::string line;
    for (size_t size = random() % 16; size > 0; --size) line += letters[random() % letters.size()];
    std::string one, two;
    const auto add_to = [](std::string& text) {
      return [&text](const FilterMatch& match) {
        text += "<" + std::string(match.name) + "," + std::string(match.value) + ">";
        return true;
      };
    };
    EXPECT_TRUE(regex.find_all(line, add_to(one)));
    EXPECT_TRUE(fast.find_all(line, add_to(two)));
    ASSERT_EQ(one, two) << line;
  }
}

// Expressions at random, plain ones and others.
class RandomRegex {
 public:
  explicit RandomRegex(unsigned seed) : random_(seed) {}
  std::string choice(int depth = 0) {
    std::string text = sequence(depth);
    for (size_t more = pick(3); more > 1; --more) text += "|" + sequence(depth);
    return text;
  }
  size_t pick(size_t count) { return random_() % count; }

 private:
  std::string sequence(int depth) {
    static const std::vector<std::string> kTimes{"",   "",   "",    "?",     "*",    "+",     "??",
                                                 "*?", "+?", "{2}", "{1,3}", "{2,}", "{0,2}?"};
    std::string text;
    for (size_t more = 1 + pick(4); more > 0; --more) text += atom(depth) + kTimes[pick(kTimes.size())];
    return text;
  }
  std::string atom(int depth) {
    static const std::vector<std::string> kAtoms{
        "a",    "b", "=", "[ab]", "[^a]", "\\w", "\\d",  "\\s", "\\.", "[\\w|-]", "[a-c]", ".",     "1",
        "[+-]", "-", " ", "e",    "{",    "\\W", "[]a]", "\\b", "^",   "ä",       "\\S",   "(?i:B)"};
    if (depth < 3 && pick(4) == 0) return "(" + choice(depth + 1) + ")";
    if (depth < 3 && pick(10) == 0) return "(?:" + choice(depth + 1) + ")";
    return kAtoms[pick(pick(12) > 0 ? kAtoms.size() - 5 : kAtoms.size())];
  }
  std::mt19937 random_;
};

std::string random_line(RandomRegex& random, size_t longest) {
  static const std::vector<std::string> kParts{"a", "b", "=",    "1",   ".", " ", "-", "+",    "e", "{",
                                               "c", "2", "ab=1", "a=2", ",", ":", "ä", "\xff", "\t"};
  std::string line;
  const bool plain = random.pick(4) > 0;
  for (size_t more = random.pick(longest); more > 0; --more)
    line += kParts[random.pick(plain ? kParts.size() - 3 : kParts.size())];
  return line;
}

std::string all_matches(Filter& filter, std::string_view line) {
  std::string text;
  filter.find_all(line, [&](const FilterMatch& match) {
    text += "<" + std::string(match.name) + "," + std::string(match.value) + ">";
    return true;
  });
  return text;
}

TEST(Filter, PlainOnesFindWhatRe2Finds) {
  RandomRegex random(11);
  int plain = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::string text = random.choice();
    auto fast = Filter::compile(text, 1), slow = Filter::compile(text, 1);
    if (!fast) continue;
    plain += fast->is_plain();
    slow->use_re2();
    for (int j = 0; j < 8; ++j) {
      const std::string line = valid_utf8(random_line(random, 24));
      ASSERT_EQ(all_matches(*fast, line), all_matches(*slow, line)) << text << " in " << line;
    }
  }
  EXPECT_GT(plain, 60);
}

// What the reader makes of whole logs with filters of a user's own, beside RE2 on every line.
TEST(TextReader, UsersFiltersGiveWhatRe2Gives) {
  RandomRegex random(5);
  TempDir folder;
  int rows = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string filter = i % 3 == 0   ? "(\\w+)=([0-9.]+)"
                               : i % 3 == 1 ? "([\\w|-]+)\\s*=\\s*([+-]?\\d+)"
                                            : random.choice();
    auto oracle = Filter::compile(filter, 1);
    if (!oracle) continue;
    oracle->use_re2();
    std::string log, expected, got;
    const std::vector<std::string> metrics{"a", "ab", "bc"};
    for (size_t lines = random.pick(40); lines > 0; --lines) {
      const std::string line = random_line(random, 20);
      log += line + "\n";
      if (line.find('a') == line.npos && line.find("bc") == line.npos) continue;
      oracle->find_all(valid_utf8(line), [&](const FilterMatch& match) {
        const bool wanted = std::find(metrics.begin(), metrics.end(), match.name) != metrics.end();
        if (wanted && !match.value.empty()) expected += std::string(match.name) + "=" + std::string(match.value) + ";";
        return true;
      });
    }
    spill(folder / "log", log);
    ReaderOptions options;
    options.metrics = metrics;
    options.filters = {filter};
    auto reader = make_text_reader(folder / "log", options);
    ASSERT_TRUE(reader);
    const size_t limit = 1 + random.pick(5);  // a line may be left in its middle
    for (bool more = true; more;) {
      const auto read =
          (*reader)->read(true, limit, [&](MetricRow&& row) { got += row.name + "=" + row.value + ";", ++rows; });
      ASSERT_TRUE(read);
      more = *read;
    }
    ASSERT_EQ(got, expected) << filter << " in\n" << log;
  }
  EXPECT_GT(rows, 500);
}

TEST(Needles, FindEveryPlace) {
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text, word;
    for (size_t size = random() % 200; size > 0; --size) text += static_cast<char>('a' + random() % 3);
    for (size_t size = 1 + random() % 6; size > 0; --size) word += static_cast<char>('a' + random() % 3);
    const Needle needle(word);
    for (size_t from = 0; from <= text.size(); ++from) {
      const char* found = needle.find(text.data() + from, text.data() + text.size());
      const size_t at = text.find(word, from);
      ASSERT_EQ(found == nullptr ? std::string::npos : static_cast<size_t>(found - text.data()), at)
          << word << " in " << text;
    }
  }
}

TEST(SplitItems, AtSemicolons) {
  using Items = std::vector<std::string>;
  EXPECT_EQ(split_items("loss;acc"), (Items{"loss", "acc"}));
  EXPECT_EQ(split_items(";loss;;"), (Items{"loss"}));
  EXPECT_EQ(split_items(""), Items{});
  EXPECT_EQ(split_items(R"(x{a=";"};y)"), (Items{R"(x{a=")", R"("})", "y"}));
  EXPECT_EQ(split_items(R"(x{a=";\";"};y)", true), (Items{R"(x{a=";\";"})", "y"}));
}

}  // namespace
}  // namespace tacho
