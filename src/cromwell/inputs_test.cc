#include "cromwell/inputs.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tacho {
namespace {

Call flatten(const std::string& json) {
  JsonReader reader([json, at = size_t{0}](char* to, size_t room) mutable -> Result<size_t> {
    const size_t size = std::min(room, json.size() - at);
    std::memcpy(to, json.data() + at, size);
    at += size;
    return size;
  });
  Call call;
  EXPECT_EQ(reader.next(), JsonReader::Token::object);
  EXPECT_TRUE(read_inputs(reader, call));
  EXPECT_EQ(reader.next(), JsonReader::Token::end);
  return call;
}

std::string leaves(const std::string& json) {
  std::string text;
  for (const CallInput& input : flatten(json).inputs)
    text.append(input.key).append(":").append(input_type_name(input.type)).append(":").append(input.value).append(";");
  return text;
}

TEST(Inputs, AreFlattened) {
  EXPECT_EQ(leaves(R"({"a":1,"b":[true,null,"x"],"c":{"k":{"l":[2]}},"d":[],"e":{},"f":[[1],[]]})"),
            "a:number:1.000000;b[0]:boolean:true;b[1]:null:;b[2]:string:x;c[\"k\"][\"l\"][0]:number:2.000000;f[0][0]:"
            "number:1.000000;");
  EXPECT_EQ(leaves(R"({"a":{"q\"uote":1}})"), "a[\"q\"uote\"]:number:1.000000;");
}

TEST(Inputs, OfMembersThatStandTwiceTheLastCounts) {
  EXPECT_EQ(leaves(R"({"a":[1,2,3],"b":{"k":[4,5],"l":6,"k":7},"a":[8]})"),
            "b[\"l\"]:number:6.000000;b[\"k\"]:number:7.000000;a[0]:number:8.000000;");
  EXPECT_EQ(leaves(R"({"a":1,"a":{}})"), "");
}

TEST(Inputs, FilesAreOnlyGsPathsWithAName) {
  EXPECT_EQ(
      leaves(
          R"({"a":"gs://b/n","b":"gs://b/","c":"gs://b","d":"gs:///n","e":"drs://x/y","f":"/local","g":"https://h/f"})"),
      "a:file:gs://b/n;b:string:gs://b/;c:string:gs://b;d:string:gs:///n;e:string:drs://x/y;f:string:/"
      "local;g:string:https://h/f;");
}

TEST(Inputs, Numbers) {
  EXPECT_EQ(input_number("3"), "3.000000");
  EXPECT_EQ(input_number("-0.5"), "-0.500000");
  EXPECT_EQ(input_number("0.1"), "0.100000");
  EXPECT_EQ(input_number("1e3"), "1000.000000");
  EXPECT_EQ(input_number("1e-9"), "1e-09");
  EXPECT_EQ(input_number("0.1234567"), "0.1234567");
  EXPECT_EQ(input_number("9007199254740992"), "9007199254740992.000000");
  EXPECT_EQ(input_number("9007199254740993"), "9007199254740993");
  EXPECT_EQ(input_number("-123456789012345678901234567890"), "-123456789012345678901234567890");
  EXPECT_EQ(input_number("1e400"), "1e400");
}

TEST(Inputs, SizesInGigabytes) {
  EXPECT_EQ(input_gigabytes(0), "0.000000");
  EXPECT_EQ(input_gigabytes(1'500'000'000), "1.500000");
  EXPECT_EQ(input_gigabytes(1'000), "0.000001");
  EXPECT_EQ(input_gigabytes(1'234), "0.000001234");
  EXPECT_EQ(input_gigabytes(12'345'678'901), "12.345678901");
}

TEST(Inputs, AreCutAtTheirCaps) {
  std::string many = "{\"a\":[0";
  for (int i = 1; i < 20'005; ++i) many += ",0";
  const Call call = flatten(many + "]}");
  EXPECT_EQ(call.inputs.size(), kMostInputs);
  EXPECT_TRUE(call.inputs_cut);

  const Call exact = flatten("{\"a\":\"" + std::string(1000, 'x') + "\"}");
  EXPECT_FALSE(exact.inputs_cut);
  const Call longer = flatten("{\"a\":\"" + std::string(999, 'x') + "\xC3\xA9y\"}");
  EXPECT_TRUE(longer.inputs_cut);
  EXPECT_EQ(longer.inputs[0].value, std::string(999, 'x') + "\xC3\xA9");  // characters, not bytes

  // A long name before many elements must not fill the memory.
  std::string wide = "{\"" + std::string(60'000, 'k') + "\":[0";
  for (int i = 1; i < 2'000; ++i) wide += ",0";
  const Call held = flatten(wide + "]}");
  EXPECT_TRUE(held.inputs_cut);
  EXPECT_LT(held.inputs.size(), 300u);
}

}  // namespace
}  // namespace tacho
