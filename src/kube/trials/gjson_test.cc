#include "kube/trials/gjson.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tacho {
namespace {

const Json kDocument = Json::parse(R"({
  "name": {"first": "Tom", "last": "Anderson"}, "age": 37, "fav.movie": "Deer Hunter", "ok": true, "nothing": null,
  "children": ["Sara", "Alex", "Jack"],
  "friends": [{"first": "Dale", "last": "Murphy", "age": 44, "nets": ["ig", "fb", "tw"]},
              {"first": "Roger", "last": "Craig", "age": 68, "nets": ["fb", "tw"]},
              {"first": "Jane", "last": "Murphy", "age": 47, "nets": ["ig", "tw"]}],
  "groups": [{"people": [{"n": 1}, {"n": 2}]}, {"people": [{"n": 3}]}]
})");

std::string got(std::string_view path) {
  const std::optional<Json> found = gjson_get(kDocument, path);
  return found ? dump_json(*found) : "-";
}

TEST(Gjson, PathsIndexesAndCounts) {
  EXPECT_EQ(got("name.last"), R"("Anderson")");
  EXPECT_EQ(got("age"), "37");
  EXPECT_EQ(got("children.1"), R"("Alex")");
  EXPECT_EQ(got("children.9"), "-");
  EXPECT_EQ(got("children.#"), "3");
  EXPECT_EQ(got("friends.#.age"), "[44,68,47]");
  EXPECT_EQ(got("friends.#.none"), "[]");
  EXPECT_EQ(got("groups.#.people.#.n"), "[[1,2],[3]]");
  EXPECT_EQ(got("name.middle"), "-");
  EXPECT_EQ(got("age.first"), "-");
  EXPECT_EQ(got("nothing"), "null");
  EXPECT_EQ(got(""), "-");
}

TEST(Gjson, EscapesAndWildcards) {
  EXPECT_EQ(got("fav\\.movie"), R"("Deer Hunter")");
  EXPECT_EQ(got("fav.movie"), "-");
  EXPECT_EQ(got("child*.2"), R"("Jack")");
  EXPECT_EQ(got("c?ildren.0"), R"("Sara")");
  EXPECT_EQ(got("c\\?ildren.0"), "-");
  EXPECT_EQ(got("*"), R"({"first":"Tom","last":"Anderson"})") << "the first key in order";
}

TEST(Gjson, Queries) {
  EXPECT_EQ(got(R"(friends.#(last=="Murphy").first)"), R"("Dale")");
  EXPECT_EQ(got(R"(friends.#(last=="Murphy")#.first)"), R"(["Dale","Jane"])");
  EXPECT_EQ(got(R"(friends.#(age>45)#.last)"), R"(["Craig","Murphy"])");
  EXPECT_EQ(got(R"(friends.#(age<=44).first)"), R"("Dale")");
  EXPECT_EQ(got(R"(friends.#(first%"D*").last)"), R"("Murphy")");
  EXPECT_EQ(got(R"(friends.#(first!%"D*").last)"), R"("Craig")");
  EXPECT_EQ(got(R"(friends.#(first!="Dale")#.first)"), R"(["Roger","Jane"])");
  EXPECT_EQ(got(R"(friends.#(nets.#(=="fb"))#.first)"), R"(["Dale","Roger"])");
  EXPECT_EQ(got(R"(children.#(%"*a*")#)"), R"(["Sara","Jack"])");
  EXPECT_EQ(got(R"(children.#(=="Nobody"))"), "-");
  EXPECT_EQ(got(R"(children.#(=="Nobody")#)"), "[]");
  EXPECT_EQ(got(R"(friends.#(age))"), R"({"first":"Dale","last":"Murphy","age":44,"nets":["ig","fb","tw"]})");
  EXPECT_EQ(got(R"(friends.#(last="Murphy").first)"), R"("Dale")") << "one = is enough";
  EXPECT_EQ(got(R"(friends.#(last=="Murphy")"), "-") << "never closed";
}

TEST(Gjson, PipesAndThis) {
  EXPECT_EQ(got("friends.#(age>45)#|0.first"), R"("Roger")");
  EXPECT_EQ(got("friends.#(age>45)#|#"), "2");
  EXPECT_EQ(got("friends.#.first|1"), R"("Roger")");
  EXPECT_EQ(got("@this|age"), "37");
  EXPECT_EQ(got("name|@this|first"), R"("Tom")");
  EXPECT_EQ(got("@unknown"), "-");
  EXPECT_EQ(got("[age,name.first,none]"), R"([37,"Tom"])");
  EXPECT_EQ(got(R"([friends.#(last=="Craig").first,age]|0)"), R"("Roger")");
  EXPECT_EQ(got("[age"), "-");
  EXPECT_EQ(got("[]"), "[]");
}

TEST(Gjson, ConditionsAsKatibWritesThem) {
  const std::string condition = R"(status.conditions.#(type=="Complete")#|#(status=="True")#)";
  Json job = Json::parse(
      R"({"status":{"conditions":[{"type":"Suspended","status":"True"},{"type":"Complete","status":"False","reason":"R"}]}})");
  EXPECT_FALSE(match_condition(job, condition).met);
  job["status"]["conditions"][1]["status"] = "True";
  job["status"]["conditions"][1]["message"] = "M";
  const ConditionMatch match = match_condition(job, condition);
  EXPECT_TRUE(match.met);
  EXPECT_EQ(match.reason, "R");
  EXPECT_EQ(match.message, "M");
  EXPECT_FALSE(match_condition(job, "").met);
  EXPECT_FALSE(match_condition(job, "status.conditions.#").met) << "a number is neither object nor array";
  EXPECT_TRUE(match_condition(job, R"(status.conditions.#(type=="Complete"))").met) << "an object";
  // Argo of Katib's examples.
  const Json workflow = Json::parse(R"({"status":{"phase":"Succeeded","message":"M"}})");
  EXPECT_TRUE(match_condition(workflow, R"(status.[@this].#(phase=="Succeeded")#)").met);
  EXPECT_EQ(match_condition(workflow, R"(status.[@this].#(phase=="Succeeded")#)").message, "M");
  EXPECT_FALSE(match_condition(workflow, R"(status.[@this].#(phase=="Failed")#)").met);
}

TEST(Gjson, SurvivesWhatNobodyWouldWrite) {
  std::string deep;
  for (int i = 0; i < 2'000; ++i) deep += "#(";
  EXPECT_EQ(got(deep), "-");
  std::string pipes = "@this";
  for (int i = 0; i < 100'000; ++i) pipes += "|@this";
  EXPECT_EQ(got(pipes), "-");
  EXPECT_EQ(got("\\"), "-");
  EXPECT_EQ(got("a\\"), "-");
  EXPECT_EQ(got("#(=="), "-");
}

}  // namespace
}  // namespace tacho
