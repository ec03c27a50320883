// One event: its parts, and how its numbers are written.
#include "katib/read/event.h"

#include <gtest/gtest.h>

#include "katib/read/event_number.h"
#include "katib/read/tfevent_test_support.h"

namespace tacho {
namespace {

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

}  // namespace
}  // namespace tacho
