#include "base/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include "base/text.h"

namespace tacho {
namespace {

std::string fixed(double value, int decimals) {
  Writer out;
  out.put_fixed(value, decimals);
  return std::string(out.view());
}

TEST(Writer, PutsNumbersWithExactlyTheDecimals) {
  EXPECT_EQ(fixed(0, 0), "0");
  EXPECT_EQ(fixed(0, 3), "0.000");
  EXPECT_EQ(fixed(12.3456, 3), "12.346");
  EXPECT_EQ(fixed(-12.5, 1), "-12.5");
  EXPECT_EQ(fixed(0.0004, 3), "0.000");
  EXPECT_EQ(fixed(-0.0004, 3), "0.000") << "a measured zero has no sign";
  EXPECT_EQ(fixed(999999999.999, 3), "999999999.999");
  EXPECT_EQ(fixed(1794748317.701, 3), "1794748317.701");
  EXPECT_EQ(fixed(9007199254740992.0, 0), "9007199254740992");
  EXPECT_EQ(fixed(1e300, 0).size(), 301u);
}

TEST(Writer, PutsZeroAsPrintfDoes) {
  for (int decimals = 0; decimals <= 6; ++decimals) {
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.*f", decimals, 0.0);
    EXPECT_EQ(fixed(0, decimals), expected);
    EXPECT_EQ(fixed(-0.3 * std::pow(10, -decimals), decimals), expected) << decimals;
  }
}

TEST(Writer, GrowsByWhateverIsPut) {
  std::mt19937_64 random(3);
  for (const size_t capacity : {0, 1, 7, 4096}) {
    Writer out(capacity);
    std::string expected;
    for (int i = 0; i < 2000; ++i) {
      const auto value = static_cast<int64_t>(random()) >> random() % 64;
      const std::string text = std::to_string(value);
      switch (random() % 4) {
        case 0: out.put(text), expected += text; break;
        case 1: out.put('x'), expected += 'x'; break;
        case 2: out.put_int(value), expected += text; break;
        default: out.put_spaces(random() % 300), expected.append(out.view().size() - expected.size(), ' ');
      }
      ASSERT_EQ(out.view(), expected);
    }
    Writer moved(std::move(out));
    EXPECT_EQ(moved.view(), expected);
    moved.clear();
    EXPECT_EQ(moved.view(), "");
  }
}

TEST(Writer, PutsNothingForWhatIsNoNumber) {
  EXPECT_EQ(fixed(std::nan(""), 2), "");
  EXPECT_EQ(fixed(std::numeric_limits<double>::infinity(), 2), "");
}

TEST(Writer, RoundsAsLlroundDoes) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const double half = static_cast<double>(random() % 2'000'001) - 1e6 + 0.5;
    for (const double v : {half, std::nextafter(half, 1e9), std::nextafter(half, -1e9), half * 900})
      EXPECT_EQ(fixed(v, 0), std::to_string(std::llround(v))) << v;
  }
  for (int digits = 0; digits < 9; ++digits)
    for (const int64_t v : {int64_t(std::pow(10, digits)), int64_t(std::pow(10, digits)) - 1})
      EXPECT_EQ(fixed(static_cast<double>(v), 0), std::to_string(v));
}

TEST(Writer, AgreesWithPrintf) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> value(-1e6, 1e6);
  for (int i = 0; i < 20000; ++i) {
    const int decimals = i % 7;
    const double v = value(random);
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.*f", decimals, v);
    // A half may be rounded either way; anything else must be the same digits.
    EXPECT_NEAR(std::stod(fixed(v, decimals)), std::stod(expected), 1.01 * std::pow(10, -decimals)) << v;
    EXPECT_EQ(fixed(v, decimals).size(), std::string(expected).size()) << v;
  }
}

TEST(JsonWriter, NestsAndEscapes) {
  Writer out;
  JsonWriter json(out);
  json.object().key("a").array().integer(1).null().value(true).end_array();
  json.key("b").value("q\"\\\x01\t").key("c").number(std::nan(""), 2).key("d").number(1.5, 1).end_object();
  EXPECT_EQ(out.view(), "{\"a\":[1,null,true],\"b\":\"q\\\"\\\\\\u0001\\t\",\"c\":null,\"d\":1.5}");
}

// Byte by byte, as the rules of JSON are.
std::string plainly_escaped(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", byte);
    const size_t length = byte < 0x80 ? 1 : utf8_length(text.substr(i));
    if (text[i] == '"' || text[i] == '\\') out += '\\', out += text[i];
    else if (text[i] == '\n') out += "\\n";
    else if (text[i] == '\t') out += "\\t";
    else if (byte < 0x20 || byte == 0x7F) out += code;
    else if (length == 0) out += "\xEF\xBF\xBD";
    else out += text.substr(i, length), i += length - 1;
  }
  return out + '"';
}

TEST(JsonWriter, EscapesAnyBytesAsThePlainWayDoes) {
  std::mt19937_64 random(5);
  constexpr std::string_view kOften = "abc \"\\\n\t\x01\x7F\xC3\xA9\xE2\x82\xAC";
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (size_t i = random() % 40; i > 0; --i)
      text += random() % 4 == 0 ? static_cast<char>(random()) : kOften[random() % kOften.size()];
    Writer out;
    JsonWriter(out).value(text);
    ASSERT_EQ(out.view(), plainly_escaped(text)) << round;
  }
}

TEST(JsonWriter, PrettyIsIndented) {
  Writer out;
  JsonWriter json(out, true);
  json.object().key("a").array().end_array().key("b").object().key("c").integer(2).end_object().end_object();
  EXPECT_EQ(out.view(), "{\n  \"a\": [],\n  \"b\": {\n    \"c\": 2\n  }\n}");
}

}  // namespace
}  // namespace tacho
