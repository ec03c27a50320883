#include "base/path.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Path, LastPart) {
  EXPECT_EQ(last_part("/a/b/c.txt"), "c.txt");
  EXPECT_EQ(last_part("c.txt"), "c.txt");
  EXPECT_EQ(last_part("/a/"), "");
  EXPECT_EQ(last_part(""), "");
}

TEST(Path, ParentFolder) {
  EXPECT_EQ(parent_folder("/a/b/c"), "/a/b");
  EXPECT_EQ(parent_folder("/a"), "/");
  EXPECT_EQ(parent_folder("a"), ".");
  EXPECT_EQ(parent_folder("./a"), ".");
  EXPECT_EQ(parent_folder(""), ".");
}

}  // namespace
}  // namespace tacho
