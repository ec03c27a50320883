#include "report/live_view.h"

#include <gtest/gtest.h>

#include "support/sample_run.h"

namespace tacho {
namespace {

TEST(LiveView, ShowsTheNewestRow) {
  LiveView view;
  view.begin(sample_run(), sample_schema());
  EXPECT_NE(view.screen(80, false).find("no sample yet"), std::string::npos);
  view.add(sample_row(0, 1.5, 128));
  view.add(sample_row(1, 2.5, 2048));
  const std::string screen = view.screen(0, false);
  EXPECT_NE(screen.find("python3 train.py --epochs 3 · 2s\n"), std::string::npos) << screen;
  EXPECT_NE(screen.find("cpu        2.5 of 2.5 cores"), std::string::npos) << screen;
  EXPECT_NE(screen.find("▅█\n"), std::string::npos) << screen;
  EXPECT_NE(screen.find("memory     2 GiB of 32 GiB"), std::string::npos) << screen;
  EXPECT_EQ(screen.find("gpu"), std::string::npos) << screen;
  EXPECT_EQ(view.line().substr(0, 9), "2s · cpu");
}

TEST(LiveView, AnUnknownValueIsNotShown) {
  LiveView view;
  view.begin(sample_run(), sample_schema());
  view.add(sample_row(0, kAbsent, kAbsent));
  EXPECT_EQ(view.screen(0, false).find("cpu"), std::string::npos);
  EXPECT_EQ(view.screen(0, false).find("memory"), std::string::npos);
}

TEST(LiveView, LinesFitTheTerminal) {
  LiveView view;
  view.begin(sample_run(), sample_schema());
  for (int i = 0; i < 200; ++i) view.add(sample_row(i, i % 3, 100 + i));
  std::string line;
  for (const char c : view.screen(50, false)) {
    if (c != '\n') line += c;
    else {
      EXPECT_LE(std::count_if(line.begin(), line.end(), [](char d) { return (d & 0xC0) != 0x80; }), 50) << line;
      line.clear();
    }
  }
}

}  // namespace
}  // namespace tacho
