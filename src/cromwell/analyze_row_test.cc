#include "cromwell/analyze_row.h"

#include <gtest/gtest.h>

#include "cromwell/analyze_attempts.h"

namespace tacho {
namespace {

struct Seen : CellTarget {
  std::string text;
  void cell(std::string_view column, size_t element, std::string_view member, const TableCell& cell) override {
    text.append(column).append(std::to_string(element)).append(member).append("=");
    text.append(cell.is_null()                        ? "null"
                : cell.kind == JsonReader::Token::yes ? "yes"
                                                      : std::string(cell.text))
        .append(";");
  }
};

TEST(AnalyzeRow, LinesAsBigQueryWritesThem) {
  ExportLineReader reader;
  Seen seen;
  EXPECT_TRUE(reader.read(
      R"({"id":"9","on":true,"f":[1.5,2],"inputs":[{"key":"a\"b","value":null},{"key":"c"}],"deep":[[1]],"no":null})",
      seen));
  EXPECT_EQ(seen.text, "id0=9;on0=yes;f0=1.5;f1=2;inputs0key=a\"b;inputs0value=null;inputs1key=c;no0=null;");
  for (const char* const bad : {"", "[]", "7", "{", R"({"a":1)", R"({"a":1} x)", R"({"a" 1})", "nonsense"}) {
    Seen ignored;
    EXPECT_FALSE(reader.read(bad, ignored)) << bad;
  }
  Seen again;  // a bad line leaves nothing behind
  EXPECT_TRUE(reader.read(R"({"a":"b"})", again));
  EXPECT_EQ(again.text, "a0=b;");
  Seen other_case;  // a table's columns may be written otherwise, and rows go into them as they are called there
  EXPECT_TRUE(reader.read(R"({"Start_Time":"X","INPUTS":[{"Key":"K"}]})", other_case));
  EXPECT_EQ(other_case.text, "start_time0=X;inputs0key=K;");
}

TEST(AnalyzeRow, PagesOfTheApi) {
  PageReader reader({{"id", {}}, {"f", {}}, {"inputs", {"key", "value"}}});
  Seen seen;
  int rows = 0;
  const auto next = reader.read(
      R"({"kind":"k","pageToken":"t2","rows":[{"f":[{"v":"9"},{"v":[{"v":"1.5"},{"v":"2"}]},{"v":[{"v":{"f":[{"v":"a"},{"v":null}]}}]}]},{"f":[{"v":null}]}]})",
      seen, [&] { ++rows; });
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, "t2");
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(seen.text, "id0=9;f0=1.5;f1=2;inputs0key=a;inputs0value=null;id0=null;");
  EXPECT_FALSE(reader.read("<html>", seen, [] {}));
  EXPECT_EQ(*reader.read(R"({"totalRows":"0"})", seen, [] {}), "");
}

TEST(AnalyzeRow, ValuesOfEitherForm) {
  const auto text = [](std::string_view value) { return TableCell{JsonReader::Token::string, value}; };
  const int64_t moment = 1'763'199'000'250'000;
  for (const char* const time : {"2025-11-15 09:30:00.25 UTC", "2025-11-15T09:30:00.25Z",
                                 "2025-11-15 09:30:00.250000+00:00", "1.76319900025E9", "1763199000.25"})
    EXPECT_EQ(text(time).time_us(), moment) << time;
  EXPECT_EQ(text("soon").time_us(), std::nullopt);
  EXPECT_EQ(text("1e300").time_us(), std::nullopt);
  EXPECT_EQ(text("-12").integer(), -12);
  EXPECT_EQ(text("9223372036854775807").integer(), INT64_MAX);
  EXPECT_EQ(text("1.5").integer(), std::nullopt);
  EXPECT_EQ(text("1e30").integer(), std::nullopt);
  EXPECT_EQ(text("NaN").number(), std::nullopt);
  EXPECT_EQ(text("true").flag(), true);
}

// Of more attempts than are held an even sample stays, by the same rule before and after.
TEST(AnalyzeAttempts, AnEvenSampleOfTooMany) {
  AttemptTable table({}, 100);
  for (int i = 0; i < 1000; ++i) {
    CallRow row;
    row.task.workflow_id = "w" + std::to_string(i);
    row.task.call = "t" + std::to_string(i % 3);
    row.instance_name = "vm" + std::to_string(i);
    row.status = "Done";
    table.add(row);
  }
  EXPECT_LE(table.attempts().size(), 100u);
  EXPECT_GT(table.attempts().size(), 30u);
  EXPECT_EQ(table.attempts().size() + table.left_out(), 1000u);
  for (const CallAttempt& attempt : table.attempts()) {
    EXPECT_EQ(table.names()[attempt.workflow][0], 'w');
    EXPECT_EQ(table.names()[attempt.task][0], 't');
    EXPECT_EQ(table.names()[attempt.status], "Done");
  }
}

}  // namespace
}  // namespace tacho
