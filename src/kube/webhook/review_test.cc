#include "kube/webhook/review.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/api/json_patch.h"
#include "kube/webhook/certificates.h"

namespace tacho {
namespace {

const char kReview[] =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","namespace":"ns","operation":"CREATE",
  "kind":{"group":"batch","version":"v1","kind":"Job"},"resource":{"group":"batch","version":"v1","resource":"jobs"},"dryRun":true,
  "object":{"z":1,"a":[1.50,{"x":null}]}}})";

TEST(Review, ReadsWhatTheApiServerSends) {
  const Result<Review> review = parse_review(kReview);
  ASSERT_TRUE(review) << review.error().message();
  EXPECT_EQ(review->uid, "u-1");
  EXPECT_EQ(review->ns, "ns");
  EXPECT_EQ(review->operation, "CREATE");
  EXPECT_EQ(review->kind, "Job");
  EXPECT_EQ(review->group, "batch");
  EXPECT_EQ(review->resource, "jobs");
  EXPECT_EQ(review->sub_resource, "");
  EXPECT_TRUE(review->dry_run);
  EXPECT_EQ(review->object->begin().key(), "z") << "the order stays";
}

TEST(Review, RefusesEverythingElse) {
  for (const std::string text :
       {"", "null", "[]", "{}", "{\"kind\":\"AdmissionReview\"}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}",
        "{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"1\"}}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"Review\",\"request\":{\"uid\":\"1\"}}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"\"}}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":7}}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":[]}", "\xff\xfe"})
    EXPECT_FALSE(parse_review(text)) << text;
  EXPECT_FALSE(parse_review(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 300'000; i++) objects += "{\"a\":";
  EXPECT_FALSE(parse_review(objects));
  EXPECT_FALSE(parse_review(std::string(kReview).replace(80, 3, "\xc3\x28 ")));
  EXPECT_FALSE(parse_review(std::string(kReview) + "x"));
}

TEST(Review, DepthLimit) {
  const auto nested = [](size_t depth) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","object":)" +
           std::string(depth, '[') + std::string(depth, ']') + "}}";
  };
  EXPECT_TRUE(parse_review(nested(126)));
  EXPECT_FALSE(parse_review(nested(127)));
}

std::string review_with(const std::string& object) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-\u0031","namespace":"ns","operation":"CREATE",)"
         R"("resource":{"group":"","version":"v1","resource":"pods"},"oldObject":null,"object":)" +
         object + "}}";
}

// Keys are kept in a list: building an object of 300,000 took over eight seconds.
TEST(Review, ManyKeysAreNotBuilt) {
  std::string wide = "{", wide_but_small = "{", long_list = "[";
  for (int i = 0; i < 280'000; i++) wide += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  for (int i = 0; i < 15'000; i++) wide_but_small += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  for (int i = 0; i < 150'000; i++) long_list += i > 0 ? ",{}" : "{}";
  for (const std::string& object : {wide + "}", wide_but_small + "}", "{\"a\":" + wide + "}}", long_list + "]"}) {
    ASSERT_LT(object.size(), kReviewLimit);
    const Result<Review> review = parse_review(review_with(object));
    ASSERT_TRUE(review) << object.substr(0, 40);
    EXPECT_TRUE(review->too_large) << object.substr(0, 40);
    EXPECT_TRUE(review->object->is_null());
    EXPECT_EQ(review->uid, "u-1");
    EXPECT_EQ(review->ns, "ns");
    EXPECT_EQ(review->resource, "pods");
  }
}

TEST(Review, LargeButOrdinaryObjectsAreRead) {
  std::string items;
  for (int i = 0; i < 20'000; i++)
    items += (i > 0 ? "," : "") + std::string(R"({"name":"VARIABLE_)") + std::to_string(i) +
             R"(","value":"some text that is long enough to count"})";
  const std::string object = R"({"kind":"Pod","spec":{"containers":[{"env":[)" + items + R"(]}]},"z":[1.50]})";
  ASSERT_GT(object.size(), kLargeReview);
  const Result<Review> review = parse_review(review_with(object));
  ASSERT_TRUE(review);
  EXPECT_FALSE(review->too_large);
  EXPECT_EQ(*review->object, Json::parse(object));
  // What is broken is refused, whatever its size.
  EXPECT_FALSE(parse_review(review_with(object) + "x"));
  EXPECT_FALSE(parse_review(review_with(object.substr(0, object.size() - 1))));
  EXPECT_FALSE(parse_review(review_with(object.substr(0, object.size() - 1) + ",\"\xff\":1}")));
  EXPECT_FALSE(parse_review(review_with(std::string(200, '[') + std::string(200, ']'))));
}

TEST(Review, UidOfAnything) {
  EXPECT_EQ(uid_of(review_with("{}")), "u-1");
  EXPECT_EQ(uid_of(R"({"request":{"object":{"uid":"no"},"uid":"yes"}})"), "yes");
  for (const char* text : {"", "{}", "[]", R"({"request":7})", R"({"request":{"uid":7}})", R"({"request":{"uid":"x)"})
    EXPECT_EQ(uid_of(text), "") << text;
}

TEST(JsonSize, CountsWhatATreeWouldCost) {
  EXPECT_EQ(measure_json(R"({"a,[{":[1,2,{"b":"\"{"}]})").depth, 3);
  EXPECT_GE(measure_json("[1,2,3]").values, 4u);
  EXPECT_EQ(measure_json("{\"a\":1,\"b\":2,\"c\":3}").comparisons, 3u);
  EXPECT_EQ(measure_json(std::string(5'000'000, '{')).depth, kJsonDepth + 1) << "stops there";
  EXPECT_GT(measure_json("{" + std::string(3'000'000, ',')).comparisons, uint64_t{1} << 39) << "no overflow";
  for (const char* text : {"", "}}}]]]", "\"", "{\"", ",,,", "]{"}) measure_json(text);
}

TEST(Review, AnswerWithoutChangeHasNoPatchFields) {
  const Json answer = Json::parse(write_answer("u", ReviewAnswer{}));
  EXPECT_EQ(
      answer,
      Json::parse(
          R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}})"));
}

TEST(Review, AnswerWithPatchAndWarnings) {
  ReviewAnswer made;
  made.patch = R"([{"op":"add","path":"/a","value":"ü"}])";
  made.warnings = {std::string(200, 'x'), "short"};
  const Json response = Json::parse(write_answer("u", made))["response"];
  EXPECT_EQ(response["patchType"], "JSONPatch");
  EXPECT_EQ(from_base64(response["patch"].get<std::string>()), made.patch);
  EXPECT_EQ(response["warnings"][0].get<std::string>().size(), 119u);
  EXPECT_EQ(response["warnings"][1], "short");
}

TEST(Review, RefusalTellsWhy) {
  ReviewAnswer made;
  made.allowed = false;
  made.patch = "[]";
  made.message = "because";
  const Json response = Json::parse(write_answer("u", made))["response"];
  EXPECT_EQ(response["status"]["message"], "because");
  EXPECT_FALSE(response.contains("patch"));
}

TEST(Review, WarningsAreCutBetweenCharacters) {
  std::string euros;
  for (int i = 0; i < 130; i++) euros += "€";
  const std::string cut = short_warning(euros);
  EXPECT_EQ(cut.size(), 116 * 3 + 3u);
  EXPECT_EQ(short_warning(std::string(119, 'a')), std::string(119, 'a'));
  EXPECT_EQ(short_warning("a\nb\tc"), "a b c");
}

TEST(JsonPatch, MakesParentsFirst) {
  Json tree = Json::parse(R"({"spec":{"containers":[{"name":"a"}]},"labels":null})");
  const Json before = tree;
  JsonPatch patch(tree);
  patch.ensure_object("/metadata/labels");
  patch.set("/metadata/labels/" + pointer_part("a/b~c"), "v");
  patch.append("/spec/containers/0/env", Json::parse(R"({"name":"E"})"));
  patch.append("/spec/containers", Json::parse(R"({"name":"b"})"));
  patch.set("/labels", 5);
  EXPECT_EQ(
      patch.text(),
      R"([{"op":"add","path":"/metadata","value":{}},{"op":"add","path":"/metadata/labels","value":{}},)"
      R"({"op":"add","path":"/metadata/labels/a~1b~0c","value":"v"},{"op":"add","path":"/spec/containers/0/env","value":[]},)"
      R"({"op":"add","path":"/spec/containers/0/env/-","value":{"name":"E"}},{"op":"add","path":"/spec/containers/-","value":{"name":"b"}},)"
      R"({"op":"add","path":"/labels","value":5}])");
  Json applied = before;
  ASSERT_TRUE(apply_json_patch(applied, Json::parse(patch.text())));
  EXPECT_EQ(applied, tree);
  EXPECT_NE(patch.at("/metadata/labels/a~1b~0c"), nullptr);
}

TEST(JsonPatch, NothingWhenItIsSoAlready) {
  Json tree = Json::parse(R"({"a":{"b":1},"c":[]})");
  JsonPatch patch(tree);
  patch.ensure_object("/a");
  patch.ensure_array("/c");
  patch.set("/a/b", 1);
  EXPECT_TRUE(patch.empty());
  patch.set("/a/b", 2);
  EXPECT_EQ(patch.text(), R"([{"op":"replace","path":"/a/b","value":2}])");
}

TEST(JsonPatch, LooksOnlyWhereSomethingIs) {
  Json tree = Json::parse(R"({"a":[{"b":null}],"c":"text"})");
  const JsonPatch patch(tree);
  for (const char* pointer : {"/a/1", "/a/-", "/a/0/b", "/a/x", "/c/d", "/d", "/a/00000000000", "/"})
    EXPECT_EQ(patch.at(pointer), nullptr) << pointer;
  EXPECT_NE(patch.at("/a/0"), nullptr);
  EXPECT_EQ(patch.at(""), &tree);
}

}  // namespace
}  // namespace tacho
