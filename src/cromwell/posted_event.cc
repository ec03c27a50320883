#include "cromwell/posted_event.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_bounds.h"
#include "base/path.h"
#include "base/text.h"
#include "cromwell/cromwell_client.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

// A storage event has some dozens of values; outputs of a workflow, in Cromwell's callback, have more.
constexpr JsonBounds kEventBounds{1u << 20, 64, 50'000};

Json parsed(std::string_view text) { return parse_bounded<Json>(text, kEventBounds); }

PostedEvent malformed(std::string why) {
  PostedEvent event;
  event.why = std::move(why);
  return event;
}
PostedEvent ignored(std::string why) {
  PostedEvent event = malformed(std::move(why));
  event.kind = PostedEvent::Kind::ignored;
  return event;
}

const Json& member(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}
// A string, or an integer as its digits: generations come as both.
std::string text_or_digits(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? value.dump() : "";
}

enum class What { finalized, updated, other };

// google.storage.object.finalize, providers/cloud.storage/eventTypes/object.change,
// google.cloud.storage.object.v1.finalized, OBJECT_FINALIZE and the same for metadata.
What what_of(std::string_view type) {
  for (const std::string_view prefix :
       {"google.storage.object.", "google.cloud.storage.object.v1.", "providers/cloud.storage/", "OBJECT_"}) {
    if (!type.starts_with(prefix)) continue;
    const std::string rest = lower(type.substr(prefix.size()));
    if (rest == "finalize" || rest == "finalized" || rest.ends_with("object.finalize") ||
        rest.ends_with("object.change"))
      return What::finalized;
    if (rest == "metadataupdate" || rest == "metadataupdated" || rest == "metadata_update" ||
        rest.ends_with("object.metadataupdate"))
      return What::updated;
  }
  return What::other;
}

struct StorageObject {
  std::string bucket, name, generation;
};

// {"bucket":"b","name":"x/workflow.ID.log","generation":"17…","size":"12"}
StorageObject object_of(const Json& data) {
  return {text_or_digits(data, "bucket"), text_or_digits(data, "name"), text_or_digits(data, "generation")};
}

// projects/_/buckets/B/objects/O
void complete_from_resource(StorageObject& object, const std::string& resource) {
  constexpr std::string_view kBuckets = "buckets/", kObjects = "/objects/";
  const size_t at = resource.find(kBuckets), name = resource.find(kObjects);
  if (at == std::string::npos || name == std::string::npos || name < at + kBuckets.size()) return;
  if (object.bucket.empty()) object.bucket = resource.substr(at + kBuckets.size(), name - at - kBuckets.size());
  if (object.name.empty()) object.name = resource.substr(name + kObjects.size());
}

// objects/O, with the bucket in the source: //storage.googleapis.com/projects/_/buckets/B
void complete_from_subject(StorageObject& object, std::string_view subject, std::string_view source) {
  constexpr std::string_view kObjects = "objects/", kBuckets = "/buckets/";
  if (const size_t at = subject.find(kObjects); object.name.empty() && at != std::string_view::npos)
    object.name = subject.substr(at + kObjects.size());
  if (const size_t at = source.find(kBuckets); object.bucket.empty() && at != std::string_view::npos)
    object.bucket = source.substr(at + kBuckets.size());
}

PostedEvent storage_event(std::string_view type, const StorageObject& object) {
  const What what = type.empty() ? What::finalized : what_of(type);
  if (what == What::other) return ignored("an event of type " + std::string(type.substr(0, 100)));
  if (object.name.empty()) return malformed("a storage event without an object's name");
  PostedEvent event;
  event.id = workflow_id_in(object.name);
  event.kind = event.id.empty() ? PostedEvent::Kind::ignored : PostedEvent::Kind::workflow;
  if (event.id.empty()) event.why = "no workflow id in " + object.name.substr(0, 200);
  event.bucket = object.bucket;
  event.object = object.name;
  event.generation = object.generation;
  event.metadata_update = what == What::updated;
  return event;
}

// {"workflowId":"…","state":"Succeeded","outputs":{…},"failures":[…]}
PostedEvent callback(const Json& json) {
  const std::string id = text_or_digits(json, "workflowId"), state = text_or_digits(json, "state");
  if (!is_workflow_id(id)) return malformed("workflowId is no workflow id: " + id.substr(0, 100));
  if (state != "Succeeded" && state != "Failed" && state != "Aborted")
    return ignored("workflow " + id + " is in state " + state.substr(0, 50));
  PostedEvent event;
  event.kind = PostedEvent::Kind::workflow;
  event.id = id;
  return event;
}

bool is_callback(const Json& json) {
  return member(json, "workflowId").is_string() && member(json, "state").is_string();
}

// {"attributes":{"eventType":"OBJECT_FINALIZE","bucketId":"b","objectId":"o","objectGeneration":"1"},"data":"BASE64","messageId":"1"}
PostedEvent pubsub(const Json& message) {
  const Json& attributes = member(message, "attributes");
  StorageObject object{text_or_digits(attributes, "bucketId"), text_or_digits(attributes, "objectId"),
                       text_or_digits(attributes, "objectGeneration")};
  PostedEvent event;
  const Json& data = member(message, "data");
  Json inside;
  if (data.is_string())
    if (const auto bytes = base64_decode(data.get<std::string>())) inside = parsed(*bytes);
  if (object.name.empty() && is_callback(inside)) {
    event = callback(inside);
  } else {
    const StorageObject more = object_of(inside);
    if (object.name.empty()) object.name = more.name;
    if (object.bucket.empty()) object.bucket = more.bucket;
    if (object.generation.empty()) object.generation = more.generation;
    event = storage_event(text_or_digits(attributes, "eventType"), object);
  }
  event.message_id = text_or_digits(message, "messageId");
  if (event.message_id.empty()) event.message_id = text_or_digits(message, "message_id");
  return event;
}

PostedEvent cloud_event(const std::string& type, const std::string& subject, const std::string& source,
                        const Json& data) {
  if (type == "google.cloud.pubsub.topic.v1.messagePublished") {
    if (!member(data, "message").is_object()) return malformed("a Pub/Sub event without a message");
    return pubsub(member(data, "message"));
  }
  if (type.empty()) return malformed("a CloudEvent without a type");
  StorageObject object = object_of(data);
  complete_from_subject(object, subject, source);
  return storage_event(type, object);
}

// {"specversion":"1.0","type":"…","source":"…","id":"…","subject":"objects/…","data":{…}}
PostedEvent structured(const Json& json) {
  Json data = member(json, "data");
  if (data.is_string()) data = parsed(data.get<std::string>());
  if (const Json& packed = member(json, "data_base64"); packed.is_string())
    if (const auto bytes = base64_decode(packed.get<std::string>())) data = parsed(*bytes);
  return cloud_event(text_or_digits(json, "type"), text_or_digits(json, "subject"), text_or_digits(json, "source"),
                     data);
}

// {"context":{"eventType":"google.storage.object.finalize","resource":{"name":"projects/_/buckets/B/objects/O"}},"data":{…}}
PostedEvent first_generation(const Json& json) {
  const Json& context = member(json, "context").is_object() ? member(json, "context") : json;
  StorageObject object = object_of(member(json, "data"));
  const Json& resource = member(context, "resource");
  complete_from_resource(object, resource.is_string() ? resource.get<std::string>() : text_or_digits(resource, "name"));
  if (text_or_digits(member(json, "data"), "resourceState") == "not_exists") return ignored("the object was deleted");
  return storage_event(text_or_digits(context, "eventType"), object);
}

std::string_view header(const std::vector<std::pair<std::string, std::string>>& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

bool is_hex_or_dash(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; }

}  // namespace

std::string workflow_id_in(std::string_view name) {
  constexpr size_t kLength = 36;
  for (size_t at = 0; at + kLength + 2 <= name.size(); ++at) {
    if (name[at] != '.' || name[at + kLength + 1] != '.') continue;
    const std::string_view id = name.substr(at + 1, kLength);
    if (std::all_of(id.begin(), id.end(), is_hex_or_dash)) return std::string(id);
  }
  name = last_part(name);
  for (size_t at = 0; at + kLength <= name.size(); ++at)
    if (is_workflow_id(name.substr(at, kLength))) return std::string(name.substr(at, kLength));
  return {};
}

PostedEvent read_event(const std::vector<std::pair<std::string, std::string>>& headers, std::string_view body) {
  const Json json = parsed(body);
  const std::string_view type = header(headers, "ce-type");
  if (!type.empty() || !header(headers, "ce-specversion").empty())
    return cloud_event(std::string(type), std::string(header(headers, "ce-subject")),
                       std::string(header(headers, "ce-source")), json);
  if (!json.is_object()) {
    const JsonExcess excess = json_excess(body, kEventBounds);
    return malformed(excess == JsonExcess::none ? "the body is no JSON object"
                                                : "the body is " + std::string(json_excess_text(excess)));
  }
  if (lower(header(headers, "content-type")).starts_with("application/cloudevents+json")) return structured(json);
  if (member(json, "message").is_object()) return pubsub(member(json, "message"));
  if (is_callback(json)) return callback(json);
  if (member(json, "specversion").is_string()) return structured(json);
  if (!text_or_digits(member(json, "context"), "eventType").empty() || !text_or_digits(json, "eventType").empty())
    return first_generation(json);
  if (member(json, "name").is_string() && member(json, "bucket").is_string()) return storage_event("", object_of(json));
  return malformed("this is none of the known events");
}

}  // namespace tacho
