#include "cromwell/posted_event.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;
using Kind = PostedEvent::Kind;

const std::string kId = "5d96fd3c-1a89-40ae-8095-c364181cda46";
const std::string kLog = "logs/workflow." + kId + ".log";

std::string with_log(std::string text) {
  for (size_t at = text.find("LOG"); at != std::string::npos; at = text.find("LOG")) text.replace(at, 3, kLog);
  for (size_t at = text.find("WID"); at != std::string::npos; at = text.find("WID")) text.replace(at, 3, kId);
  return text;
}

struct Case {
  const char* name;
  Headers headers;
  std::string body;
  Kind kind = Kind::workflow;
  bool update = false;
  std::string bucket = "b", generation = "7";
};

TEST(Events, EveryEnvelope) {
  const Headers structured = {{"content-type", "application/cloudevents+json; charset=utf-8"}};
  const Headers binary = {{"ce-specversion", "1.0"},
                          {"ce-type", "google.cloud.storage.object.v1.finalized"},
                          {"ce-source", "//storage.googleapis.com/projects/_/buckets/b"},
                          {"ce-id", "1"},
                          {"ce-subject", "objects/" + kLog}};
  Headers updated = binary, deleted = binary, pubsub = binary;
  updated[1].second = "google.cloud.storage.object.v1.metadataUpdated";
  deleted[1].second = "google.cloud.storage.object.v1.deleted";
  pubsub[1].second = "google.cloud.pubsub.topic.v1.messagePublished";
  const std::string object = R"({"bucket":"b","name":"LOG","generation":"7","size":"12"})";
  const std::string message =
      R"({"attributes":{"eventType":"OBJECT_FINALIZE","bucketId":"b","objectId":"LOG","objectGeneration":"7"},"messageId":"m1"})";
  // {"bucket":"b","name":"workflow.5d96fd3c-1a89-40ae-8095-c364181cda46.log","generation":"7"}
  const std::string packed =
      "eyJidWNrZXQiOiJiIiwibmFtZSI6IndvcmtmbG93LjVkOTZmZDNjLTFhODktNDBhZS04MDk1LWMzNjQxODFjZGE0Ni5sb2ciLCJnZW5lcmF0aW9u"
      "IjoiNyJ9";
  const std::vector<Case> cases = {
      {"function", {}, R"({"context":{"eventType":"google.storage.object.finalize"},"data":)" + object + "}"},
      {"function, flat", {}, R"({"eventType":"google.storage.object.finalize","data":)" + object + "}"},
      {"function, old type",
       {},
       R"({"context":{"eventType":"providers/cloud.storage/eventTypes/object.change"},"data":)" + object + "}"},
      {"function, by resource",
       {},
       R"({"context":{"eventType":"google.storage.object.finalize","resource":{"name":"projects/_/buckets/b/objects/LOG"}},"data":{}})",
       Kind::workflow,
       false,
       "b",
       ""},
      {"function, update",
       {},
       R"({"context":{"eventType":"google.storage.object.metadataUpdate"},"data":)" + object + "}",
       Kind::workflow,
       true},
      {"function, delete",
       {},
       R"({"context":{"eventType":"google.storage.object.delete"},"data":)" + object + "}",
       Kind::ignored,
       false,
       "",
       ""},
      {"bare object", {}, object},
      {"binary", binary, object},
      {"binary, by subject", binary, "{}", Kind::workflow, false, "b", ""},
      {"binary, update", updated, object, Kind::workflow, true},
      {"binary, deleted", deleted, object, Kind::ignored, false, "", ""},
      {"structured", structured,
       R"({"specversion":"1.0","type":"google.cloud.storage.object.v1.finalized","source":"//s","id":"1","data":)" +
           object + "}"},
      {"structured, by subject", structured,
       R"({"type":"google.cloud.storage.object.v1.finalized","source":"//storage.googleapis.com/projects/_/buckets/b","subject":"objects/LOG"})",
       Kind::workflow, false, "b", ""},
      {"structured, archived", structured,
       R"({"type":"google.cloud.storage.object.v1.archived","data":)" + object + "}", Kind::ignored, false, "", ""},
      {"pubsub, wrapped", {}, R"({"message":)" + message + R"(,"subscription":"s"})"},
      {"pubsub, data",
       {},
       R"({"message":{"data":")" + packed +
           R"(","messageId":"2","attributes":{"eventType":"OBJECT_FINALIZE"}},"subscription":"s"})"},
      {"pubsub, update",
       {},
       R"({"message":{"data":")" + packed +
           R"(","attributes":{"eventType":"OBJECT_METADATA_UPDATE"}},"subscription":"s"})",
       Kind::workflow,
       true},
      {"pubsub, deleted",
       {},
       R"({"message":{"data":")" + packed + R"(","attributes":{"eventType":"OBJECT_DELETE"}},"subscription":"s"})",
       Kind::ignored,
       false,
       "",
       ""},
      {"pubsub in a binary event", pubsub, R"({"message":)" + message + R"(,"subscription":"s"})"},
      {"pubsub in a structured event", structured,
       R"({"type":"google.cloud.pubsub.topic.v1.messagePublished","data":{"message":)" + message + "}}"},
      {"callback", {}, R"({"workflowId":"WID","state":"Succeeded","outputs":{}})", Kind::workflow, false, "", ""},
      {"callback, failed",
       {},
       R"({"workflowId":"WID","state":"Failed","failures":["x"]})",
       Kind::workflow,
       false,
       "",
       ""},
      {"callback, running", {}, R"({"workflowId":"WID","state":"Running"})", Kind::ignored, false, "", ""},
  };
  for (const Case& one : cases) {
    const PostedEvent event = read_event(one.headers, with_log(one.body));
    EXPECT_EQ(event.kind, one.kind) << one.name << ": " << event.why;
    EXPECT_EQ(event.id, one.kind == Kind::workflow ? kId : "") << one.name;
    EXPECT_EQ(event.metadata_update, one.update) << one.name;
    EXPECT_EQ(event.bucket, one.bucket) << one.name;
    EXPECT_EQ(event.generation, one.generation) << one.name;
  }
}

TEST(Events, Malformed) {
  const Headers binary = {{"ce-specversion", "1.0"}};
  for (const std::string body :
       {"", "x", "[]", "7", "{}", R"({"name":7,"bucket":"b"})", R"({"message":7,"subscription":"s"})",
        R"({"message":{},"subscription":"s"})", R"({"workflowId":"short","state":"Succeeded"})",
        R"({"eventType":"google.storage.object.finalize","data":{}})",
        R"({"message":{"data":"!!!"},"subscription":"s"})"})
    EXPECT_EQ(read_event({}, body).kind, Kind::malformed) << body;
  EXPECT_EQ(read_event(binary, "{}").kind, Kind::malformed);
  EXPECT_EQ(read_event({}, R"({"name":"data/reads.bam","bucket":"b"})").kind, Kind::ignored);
}

TEST(Events, WorkflowIdInAName) {
  EXPECT_EQ(workflow_id_in("a/workflow." + kId + ".log"), kId);
  EXPECT_EQ(workflow_id_in("workflow.00000000-0000-0000-0000-00000000000x.log"), "");
  EXPECT_EQ(workflow_id_in("x." + std::string(36, 'a') + ".y." + kId + ".z"), std::string(36, 'a'));  // the first
  EXPECT_EQ(workflow_id_in("dir/" + kId), kId);
  EXPECT_EQ(workflow_id_in("dir/log_" + kId + "_x"), kId);
  EXPECT_EQ(workflow_id_in(kId + "/file"), "");  // only the last part
  EXPECT_EQ(workflow_id_in(""), "");
}

TEST(Events, DepthAndCountAreBoundedBeforeATreeIsMade) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::string bare =
      "{\"specversion\":\"1.0\",\"type\":\"google.cloud.storage.object.v1.finalized\",\"data\":" + deep + "}";
  EXPECT_EQ(read_event({}, bare).kind, PostedEvent::Kind::malformed);
  EXPECT_NE(read_event({}, bare).why.find("deep"), std::string::npos);
  EXPECT_EQ(read_event({{"ce-type", "google.cloud.storage.object.v1.finalized"}}, deep).kind,
            PostedEvent::Kind::malformed);
  // Inside a string it is text; what it unpacks to is bounded, too.
  std::string open, close;  // three brackets each
  for (int i = 0; i < 33'333; ++i) open += "W1tb", close += "XV1d";
  const PostedEvent packed = read_event({}, "{\"message\":{\"data\":\"" + open + close + "\"}}");
  EXPECT_EQ(packed.kind, PostedEvent::Kind::malformed);
  const PostedEvent quoted = read_event(
      {}, "{\"specversion\":\"1.0\",\"type\":\"google.cloud.storage.object.v1.finalized\",\"data\":\"" + deep + "\"}");
  EXPECT_EQ(quoted.kind, PostedEvent::Kind::malformed);
  std::string many = "{\"workflowId\":\"x\",\"outputs\":[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  EXPECT_NE(read_event({}, many + "]}").why.find("many"), std::string::npos);
}

}  // namespace
}  // namespace tacho
