#include "report/live/live_view.h"

#include <gtest/gtest.h>

#include "support/sample_run.h"

namespace tacho {
namespace {

TEST(LiveView, ShowsTheNewestRow) {
  LiveView view;
  view.begin(sample_run(), sample_schema());
  EXPECT_TRUE(view.figures(80).empty());
  view.add(sample_row(0, 1.5, 128));
  view.add(sample_row(1, 2.5, 2048));
  EXPECT_EQ(view.head(), "python3 train.py --epochs 3 · 2s");
  const auto figures = view.figures(80);
  ASSERT_GE(figures.size(), 2u);
  EXPECT_EQ(figures[0].name + " " + figures[0].text, "cpu 2.5 of 2.5 cores");
  EXPECT_EQ(figures[0].bars, "▅█");
  EXPECT_EQ(figures[1].name + " " + figures[1].text, "memory 2 GiB of 32 GiB");
  for (const auto& figure : figures) EXPECT_NE(figure.name, "gpu");
  EXPECT_EQ(view.line().substr(0, 9), "2s · cpu");
}

TEST(LiveView, AFileHasItsName) {
  LiveView view;
  tacho::Run file;
  file.id = "rows.csv";
  view.begin(file, sample_schema());
  EXPECT_EQ(view.head(), "rows.csv · 0s");
  Row row = sample_row(0, 1.5, 128);
  view.add(row);
  EXPECT_EQ(view.figures(80)[0].text, "1.5 cores");
  row = sample_row(1, kAbsent, kAbsent);
  view.add(row);
  EXPECT_NE(view.figures(80)[0].text, "1.5 cores") << "the machine's, where there is no job in it";
}

TEST(LiveView, AnUnknownValueIsNotShown) {
  LiveView view;
  view.begin(sample_run(), sample_schema());
  view.add(sample_row(0, kAbsent, kAbsent));
  for (const auto& figure : view.figures(80)) {
    EXPECT_NE(figure.name, "cpu");
    EXPECT_NE(figure.name, "memory");
  }
}

TEST(LiveView, BarsTakeTheRoomThatThereIs) {
  LiveView view;
  view.begin(sample_run(), sample_schema());
  for (int i = 0; i < 200; ++i) view.add(sample_row(i, i % 3, 100 + i));
  EXPECT_EQ(view.figures(50)[0].bars.size(), 10 * 3u);
  EXPECT_EQ(view.figures(20)[0].bars, "");
  EXPECT_EQ(view.figures(500)[0].bars.size(), 60 * 3u);
}

}  // namespace
}  // namespace tacho
