// Scraped metrics: lines of both formats, selection, and which samples make rows.
#include "katib/read/prometheus_source.h"

#include <gtest/gtest.h>

#include "katib/read/exposition.h"
#include "katib/read/series_selector.h"

namespace tacho {
namespace {

using Rows = std::vector<std::string>;
constexpr int64_t kSecond = 1'000'000'000;
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

class ScrapeTest : public ::testing::Test {
 protected:
  void open(std::vector<std::string> metrics) {
    options_.metrics = std::move(metrics);
    auto created = PrometheusSource::create(options_);
    ASSERT_TRUE(created) << created.error().message();
    source_ = std::make_unique<PrometheusSource>(std::move(*created));
  }
  // One scrape at `second`; rows as "name=value@seconds".
  Rows scrape(const std::string& body, int second = 1, const char* type = "text/plain; version=0.0.4",
              size_t part = 1 << 20) {
    rows_.clear();
    source_->begin(second * kSecond, type);
    for (size_t at = 0; at < body.size(); at += part) source_->feed(std::string_view(body).substr(at, part));
    const auto ended = source_->end(take());
    if (!ended) rows_.push_back("error: " + ended.error().what);
    return rows_;
  }
  Rows finish() {
    rows_.clear();
    source_->finish(take());
    return rows_;
  }
  Reader::Take take() {
    return [this](MetricRow&& row) {
      std::string time = row.time_stamp.str();
      if (time.starts_with("1970-01-01T00:00:")) time = time.substr(17);
      rows_.push_back(row.name + "=" + row.value + "@" + time + (row.step ? " step " + std::to_string(*row.step) : ""));
    };
  }

  ReaderOptions options_;
  std::unique_ptr<PrometheusSource> source_;
  Rows rows_;
};

TEST_F(ScrapeTest, TextFormat) {
  open({"acc", "loss", "absent"});
  const std::string body =
      "# HELP loss The loss.\n# TYPE loss gauge\nloss 0.25\n\n  acc\t{ run = \"a\\\"}\\\\\" , } 9e-1   "
      "1395066363000\nother 1\n";
  for (const size_t part : {1, 2, 7, 1000}) {
    open({"acc", "loss", "absent"});
    EXPECT_EQ(scrape(body, 1, "", part), (Rows{"acc=9e-1@2014-03-17T14:26:03.000000Z", "loss=0.25@01.000000Z"}))
        << part;
  }
  EXPECT_EQ(scrape("loss 0.5"), (Rows{"loss=0.5@01.000000Z"})) << "a last line without its end";
}

TEST_F(ScrapeTest, OpenMetrics) {
  open({"loss", "steps", "h_bucket{le=\"0.1\"}", "h_sum", "q{quantile=\"0.5\"}"});
  const std::string body =
      "# TYPE loss gauge\nloss 0.25 1520879607.789\n# TYPE steps counter\nsteps_total 17 # {trace_id=\"x # y\"} 0.67 "
      "1520879607.789\n"
      "steps_created 1\nh_bucket{le=\"0.1\"} 8 # {} 0.054\nh_bucket{le=\"+Inf\"} 9\nh_sum 1.5e0 2 # {a=\"b\"} 1\n"
      "q{quantile=\"0.5\"} 3\nq{quantile=\"0.9\"} 4\n";
  EXPECT_EQ(scrape(body + "# EOF\n", 3, kOpenMetrics),
            (Rows{"loss=0.25@2018-03-12T18:33:27.789000Z", "steps=17@03.000000Z", "h_bucket{le=\"0.1\"}=8@03.000000Z",
                  "h_sum=1.5e0@02.000000Z", "q{quantile=\"0.5\"}=3@03.000000Z"}));
  EXPECT_EQ(scrape("loss 7\n", 4, kOpenMetrics),
            (Rows{"error: the scraped metrics are incomplete: '# EOF' is missing"}));
  EXPECT_EQ(finish(), Rows{}) << "an incomplete scrape changes nothing";
}

TEST_F(ScrapeTest, SelectionByLabels) {
  const std::string body =
      "x{a=\"1\",b=\"1\"} 11\nx{a=\"1\",b=\"2\"} 12\nx{a=\"2\"} 20\ny{a=\"1\"} 5\nz 1\nz{a=\"1\"} 2\nc_total 3\n";
  const auto value = [&](const std::string& metric) {
    open({metric});
    const Rows rows = scrape(body);
    return rows.empty()      ? "none"
           : rows.size() > 1 ? "several"
                             : rows[0].substr(metric.size() + 1, rows[0].find('@') - metric.size() - 1);
  };
  EXPECT_EQ(value("x"), "none");
  EXPECT_EQ(value("y"), "5");
  EXPECT_EQ(value("z"), "1");
  EXPECT_EQ(value("z{a=\"1\"}"), "2");
  EXPECT_EQ(value("z{a=\"\"}"), "1");
  EXPECT_EQ(value("c"), "3");
  EXPECT_EQ(value("c_total"), "3");
  EXPECT_EQ(value("x{a=\"1\"}"), "none");
  EXPECT_EQ(value("x{a=\"1\",b=\"2\"}"), "12");
  EXPECT_EQ(value("x{ b = \"2\" , }"), "12");
  EXPECT_EQ(value("x{a!=\"1\"}"), "20");
  EXPECT_EQ(value("x{b=~\"2|3\"}"), "12");
  EXPECT_EQ(value("x{b!~\".+\"}"), "20");
  EXPECT_EQ(value("x{a=~\"\"}"), "none");
}

TEST_F(ScrapeTest, ARowForEachNewSampleFirstAndLast) {
  open({"loss"});
  EXPECT_EQ(scrape("loss 1\n", 1), Rows{"loss=1@01.000000Z"});
  EXPECT_EQ(scrape("loss 1\n", 2), Rows{});
  EXPECT_EQ(scrape("loss 2\n", 3), Rows{"loss=2@03.000000Z"});
  EXPECT_EQ(scrape("loss 2\n", 4), Rows{});
  EXPECT_EQ(scrape("other 2\n", 5), Rows{});
  EXPECT_EQ(finish(), Rows{"loss=2@04.000000Z"});
  EXPECT_EQ(finish(), Rows{});
}

TEST_F(ScrapeTest, TimeStampsTellWhatIsNew) {
  open({"loss"});
  EXPECT_EQ(scrape("loss 1 1000\n", 5), Rows{"loss=1@01.000000Z"});
  EXPECT_EQ(scrape("loss 2 1000\n", 6), Rows{});
  EXPECT_EQ(scrape("loss 2 2500\n", 7), Rows{"loss=2@02.500000Z"});
  EXPECT_EQ(scrape("loss 2 3500\n", 8), Rows{"loss=2@03.500000Z"});
  EXPECT_EQ(finish(), Rows{});
}

TEST_F(ScrapeTest, AStepMakesASampleNew) {
  options_.step_metric = "step";
  open({"loss"});
  EXPECT_EQ(scrape("loss 1\nstep 1\n", 1), Rows{"loss=1@01.000000Z step 1"});
  EXPECT_EQ(scrape("loss 1\nstep 1\n", 2), Rows{});
  EXPECT_EQ(scrape("loss 1\nstep 2.0\n", 3), Rows{"loss=1@03.000000Z step 2"});
  EXPECT_EQ(scrape("loss 1\nstep 2.5\n", 4), Rows{"loss=1@04.000000Z"});
}

TEST_F(ScrapeTest, NonFinite) {
  open({"loss"});
  EXPECT_EQ(scrape("loss NaN\n"), Rows{});
  EXPECT_EQ(scrape("loss NaN\n", 2), Rows{});
  EXPECT_EQ(source_->counts().non_finite, 1u);
  options_.non_finite = NonFinite::report;
  open({"loss"});
  EXPECT_EQ(scrape("loss -Inf\n"), Rows{"loss=-Inf@01.000000Z"});
}

TEST_F(ScrapeTest, BadLinesArePassedOver) {
  open({"loss"});
  EXPECT_EQ(scrape("loss\nloss{a=\"1} 2\nloss{a=1} 2\nloss x\nloss 1 x\nloss 1 2 3\n{} 1\nloss{a=\"1\" b=\"2\"} 1\n"),
            Rows{});
  EXPECT_EQ(source_->counts().bad_lines, 8u);
  EXPECT_EQ(scrape("loss{a=\"" + std::string(2 << 20, 'x') + "\"} 1\nloss 0x1p-2\n", 1, "", 4096),
            Rows{"loss=0.25@01.000000Z"});
  EXPECT_EQ(source_->counts().bad_lines, 9u);
}

TEST_F(ScrapeTest, MoreThan64MibAreDiscarded) {
  open({"loss"});
  source_->begin(kSecond, "");
  const std::string part = "loss 1\n" + std::string((1 << 20) - 8, '#') + "\n";
  bool taken = true;
  for (int i = 0; i < 70 && taken; ++i) taken = source_->feed(part);
  EXPECT_FALSE(taken);
  EXPECT_FALSE(source_->end(take()));
  EXPECT_EQ(rows_, Rows{});
  EXPECT_EQ(scrape("loss 1\n"), Rows{"loss=1@01.000000Z"});
}

TEST_F(ScrapeTest, AnAbandonedScrapeChangesNothing) {
  open({"loss"});
  source_->begin(kSecond, "");
  source_->feed("loss 1\nlo");
  source_->abandon();
  EXPECT_EQ(finish(), Rows{});
  EXPECT_EQ(scrape("ss 2\n"), Rows{});
}

TEST_F(ScrapeTest, StateGoesOn) {
  open({"loss", "acc"});
  scrape("loss 1\n", 1);
  const std::string state = source_->state();
  open({"loss", "acc"});
  ASSERT_TRUE(source_->restore(state));
  EXPECT_EQ(scrape("loss 1\nacc 2\n", 2), Rows{"acc=2@02.000000Z"});
  EXPECT_EQ(finish(), Rows{"loss=1@02.000000Z"});
  EXPECT_FALSE(source_->restore("["));
  EXPECT_FALSE(source_->restore("{\"loss\":1}"));
}

TEST(SeriesSelector, BadOnesAreNamed) {
  for (const char* text : {"", "1x", "x y", "x{", "x{a}", "x{a=}", "x{a=\"1\"", "x{a=\"1\" b=\"2\"}", "x{a=\"1\"}y",
                           "x{a=~\"(\"}", "x{a=1}", "x{,}", "a/b", "{a=\"1\"}", "x{a=\"1}"}) {
    const auto parsed = SeriesSelector::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message().find(std::string("'") + text + "'"), std::string::npos);
  }
  EXPECT_TRUE(SeriesSelector::parse(" x:y_z { a = \"}\\\"\" } "));
  EXPECT_FALSE(PrometheusSource::create([] {
    ReaderOptions o;
    o.metrics = {"x"};
    o.step_metric = "1";
    return o;
  }()));
}

TEST(Exposition, Floats) {
  for (const char* text :
       {"1", "-1.5", "+1e3", "NaN", "nan", "+Inf", "-inf", "Infinity", ".5", "5.", "0x1p-2", "0XaP1"})
    EXPECT_TRUE(is_float(text)) << text;
  for (const char* text : {"", "+", "1x", "--1", "e5", "0x", "1,5", "in", "+-1", "1e999"})
    EXPECT_FALSE(is_float(text)) << text;
}

}  // namespace
}  // namespace tacho
