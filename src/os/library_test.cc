#include "os/library.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Library, FindsFunctions) {
  const auto library = Library::open("libm.so.6");
  ASSERT_TRUE(library);
  auto* cosine = reinterpret_cast<double (*)(double)>(library->symbol("cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(library->symbol("no_such_function_of_libm"), nullptr);
}

TEST(Library, SaysWhatIsMissing) {
  const auto library = Library::open("libno-such-thing.so.1");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::not_available);
  EXPECT_NE(library.error().message().find("libno-such-thing.so.1"), std::string::npos);
}

TEST(Library, IsFoundWithoutLoadingIt) {
  EXPECT_TRUE(Library::is_installed("libm.so.6"));
  EXPECT_FALSE(Library::is_installed("libno-such-thing.so.1"));
  EXPECT_FALSE(Library::is_installed("m.so.6.none"));
  EXPECT_TRUE(Library::is_installed("/proc/self/exe"));
  EXPECT_FALSE(Library::is_installed("/no/such/libm.so.6"));
}

}  // namespace
}  // namespace tacho
