#include "cloud/values.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(CloudValues, AnAnswerIsMeasuredBeforeItIsRead) {
  HttpReply reply;
  reply.response.status = 200;
  reply.response.body = R"({"region":"r","more":[[1]]})";
  EXPECT_TRUE(object_of(reply).is_object());
  reply.response.body = R"({"region":"r","more":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_FALSE(object_of(reply).is_object());
}

}  // namespace
}  // namespace tacho
