#include "spool/whole_rows.h"

#include <gtest/gtest.h>

#include "spool/layout.h"

namespace tacho {
namespace {

struct CsvCase {
  std::string text, whole;
  int64_t rows;
};

TEST(WholeRows, OfCsvAreBeforeAndBehindTheDamage) {
  const std::string zeros(3, '\0');
  const CsvCase cases[] = {
      {"a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4\n", 2},
      {"a,b\n1,2\n3,", "a,b\n1,2\n", 1},
      {"a,b\n1,2\n3\n5,6\n", "a,b\n1,2\n5,6\n", 2},
      {"a,b\n1,2\n3,4,5\n6,7\n8", "a,b\n1,2\n6,7\n", 2},
      {"a,b\n" + zeros + "," + zeros + "\n1,2\n", "a,b\n1,2\n", 1},
      {"a,b\n", "a,b\n", 0},
      {zeros + "\n1,2\n", "", 0},  // nobody knows what the columns are
      {"a,b", "", 0},
      {"", "", 0},
  };
  for (const CsvCase& one : cases) {
    std::string text = one.text;
    EXPECT_EQ(keep_whole_rows(kSealedEnding, text), one.rows) << one.text;
    EXPECT_EQ(text, one.whole);
  }
}

}  // namespace
}  // namespace tacho
