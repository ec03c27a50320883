#include "cromwell/json_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace tacho {
namespace {

using Token = JsonReader::Token;

// Hands a text out in pieces of `piece` bytes, so that every token is met at an edge of the buffer.
JsonReader::Fill in_pieces(std::string text, size_t piece) {
  return [text = std::move(text), piece, at = size_t{0}](char* to, size_t room) mutable -> Result<size_t> {
    const size_t size = std::min({room, piece, text.size() - at});
    std::memcpy(to, text.data() + at, size);
    at += size;
    return size;
  };
}

// One letter a token, texts in brackets: {k(a)n(1)}.
std::string shape(const std::string& text, size_t piece = 1 << 20) {
  JsonReader reader(in_pieces(text, piece));
  std::string out;
  for (;;) {
    const Token token = reader.next();
    constexpr std::string_view kLetters = "{}[]ksn10_.!";
    out += kLetters[static_cast<size_t>(token)];
    if (token == Token::key || token == Token::string || token == Token::number)
      out.append("(").append(reader.text()).append(")");
    if (token == Token::end || token == Token::broken) return out;
  }
}

std::string error_of(const std::string& text) {
  JsonReader reader(in_pieces(text, 3));
  Token token = Token::null;
  while (token != Token::end && token != Token::broken) token = reader.next();
  return token == Token::broken ? reader.error().what : "";
}

TEST(JsonReader, ReadsEveryKindOfToken) {
  const std::string text = R"( {"a" : [1, -2.5e+3, "x", true,false , null], "b":{}, "c" :[] } )";
  const std::string expected = "{k(a)[n(1)n(-2.5e+3)s(x)10_]k(b){}k(c)[]}.";
  for (const size_t piece : {1, 2, 3, 5, 7, 1000}) EXPECT_EQ(shape(text, piece), expected) << piece;
}

TEST(JsonReader, TakesEscapesApartAtEveryEdge) {
  const std::string text =
      R"(["\"\\\/\b\f\n\r\t", "\u0041\u00e9\u20ac\ud83d\ude00", "\ud800", "\ud800\ud83d\ude00x", "\ud800\n"])";
  const std::string expected =
      "[s(\"\\/\b\f\n\r\t)s(A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80)s(\xEF\xBF\xBD)s(\xEF\xBF\xBD\xF0\x9F\x98\x80x)"
      "s(\xEF\xBF\xBD\n)].";
  for (const size_t piece : {1, 2, 3, 4, 5, 6, 7, 8, 9, 1000}) EXPECT_EQ(shape(text, piece), expected) << piece;
}

TEST(JsonReader, PassesBytesThatAreNoUtf8) { EXPECT_EQ(shape("[\"\xFF\xC3\x28\"]"), "[s(\xFF\xC3\x28)]."); }

TEST(JsonReader, SaysWhereItBroke) {
  EXPECT_EQ(error_of(R"({"a":1,)"), "broken JSON at byte 7: the document is cut off");
  EXPECT_EQ(error_of(R"({"a)"), "broken JSON at byte 3: the document is cut off");
  EXPECT_EQ(error_of(""), "broken JSON at byte 0: the document is cut off");
  EXPECT_EQ(error_of("[1 2]"), "broken JSON at byte 3: a comma or a closing bracket is missing");
  EXPECT_EQ(error_of("[1}"), "broken JSON at byte 2: a bracket that was not opened");
  EXPECT_EQ(error_of("[1,]"), "broken JSON at byte 3: a value is missing");
  EXPECT_EQ(error_of(R"({"a":1,})"), "broken JSON at byte 7: a member's name is missing");
  EXPECT_EQ(error_of("{} x"), "broken JSON at byte 3: text behind the end of the document");
  EXPECT_EQ(error_of("\"a\nb\""), "broken JSON at byte 2: a control character inside a string");
  for (const char* text : {"01", "1.", "-", "1e", "+1", ".5", "tru", "nul", "truE", R"("\x")", R"("\u12g4")",
                           R"({"a" 1})", R"({1:2})", "[", "{", "nan"})
    EXPECT_NE(error_of(text), "") << text;
  for (const char* text : {"0", "-0", "1.5", "1e5", "true", R"("")", " null "}) EXPECT_EQ(error_of(text), "") << text;
}

TEST(JsonReader, RefusesDeepNesting) {
  EXPECT_EQ(error_of(std::string(1024, '[') + std::string(1024, ']')), "");
  EXPECT_EQ(error_of(std::string(1025, '[') + std::string(1025, ']')),
            "broken JSON at byte 1024: nested deeper than 1024 levels");
  // Which bracket is open is known at every level.
  std::string open, close;
  for (int i = 0; i < 200; ++i) {
    open += i % 3 == 0 ? "[" : R"({"a":)";
    close.insert(0, i % 3 == 0 ? "]" : "}");
  }
  EXPECT_EQ(error_of(open + "1" + close), "");
  close[130] = close[130] == ']' ? '}' : ']';
  EXPECT_NE(error_of(open + "1" + close), "");
}

TEST(JsonReader, HoldsALongStringInPart) {
  JsonReader reader(in_pieces("[\"" + std::string(1 << 20, 'x') + "\",\"y\"]", 100'000));
  EXPECT_EQ(reader.next(), Token::array);
  EXPECT_EQ(reader.next(), Token::string);
  EXPECT_EQ(reader.text().size(), JsonReader::kTextLimit);
  EXPECT_TRUE(reader.cut());
  EXPECT_EQ(reader.next(), Token::string);
  EXPECT_EQ(reader.text(), "y");
  EXPECT_FALSE(reader.cut());
}

TEST(JsonReader, SkipsAValueAndKnowsWhereItIs) {
  JsonReader reader(in_pieces(R"({"a":[{"b":[1,2]}],"c":3})", 4));
  EXPECT_EQ(reader.next(), Token::object);
  EXPECT_EQ(reader.next(), Token::key);
  const Token first = reader.next();
  EXPECT_EQ(reader.token_offset(), 5u);
  EXPECT_TRUE(reader.skip(first));
  EXPECT_EQ(reader.depth(), 1);
  EXPECT_EQ(reader.next(), Token::key);
  EXPECT_EQ(reader.text(), "c");
}

TEST(JsonReader, HandsOnAReadError) {
  JsonReader reader([](char*, size_t) -> Result<size_t> { return Error{Code::io, "the disk is gone", "", ""}; });
  EXPECT_EQ(reader.next(), Token::broken);
  EXPECT_EQ(reader.error().what, "the disk is gone");
  EXPECT_EQ(reader.next(), Token::broken);
}

}  // namespace
}  // namespace tacho
