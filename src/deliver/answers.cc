#include "deliver/answers.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"

namespace tacho {
namespace {

std::string first_of(const Json& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (std::string text = text_of(object, key); !text.empty()) return text;
  return {};
}

// ISO 8601 in any form, or UNIX seconds.
std::optional<int64_t> parse_expiry(const std::string& text) {
  if (const auto seconds = parse_double(text)) {
    if (*seconds <= 0 || *seconds > 9e9) return std::nullopt;
    return as_ns(*seconds);
  }
  return parse_iso_date_ns(text);
}

// Fields whose other name is tried before they are left out.
struct OtherName {
  std::string_view wire, seed;
};
constexpr std::array<OtherName, 3> kOtherNames{{{"host_hostname", "host_name"},
                                                {"host_server_allocation", "host_allocation"},
                                                {"host_gpu_memory_mib", "host_gpu_vram_mib"}}};
constexpr std::array<std::string_view, 4> kNeeded{"data_source", "data_csv", "data_uris", "run_status"};

void rename_key(Json& body, std::string_view from, std::string_view to) {
  Json renamed = Json::object();
  for (auto& [key, value] : body.items()) renamed[key == from ? std::string(to) : key] = value;
  body = std::move(renamed);
}

bool relax_tags(Json& body, Relaxed& memory) {
  if (body["tags"].is_array()) {
    Json object = Json::object();
    for (const Json& tag : body["tags"]) {
      const std::string text = tag.is_string() ? tag.get<std::string>() : "";
      const size_t equals = text.find('=');
      if (equals != std::string::npos) object[text.substr(0, equals)] = text.substr(equals + 1);
    }
    body["tags"] = std::move(object);
    memory.renamed.push_back("tags");
    return true;
  }
  body.erase("tags");
  memory.dropped.push_back("tags");
  return true;
}

bool relax_source(Json& body, Relaxed& memory) {
  const std::string source = text_of(body, "data_source");
  if (source == "s3" || !memory.tried.insert("data_source").second) return false;
  body["data_source"] = source == "inline" ? "local" : "inline";
  memory.renamed.push_back("data_source");
  return true;
}

bool relax_field(Json& body, const std::string& field, Relaxed& memory) {
  if (field == "data_source") return relax_source(body, memory);
  if (std::find(kNeeded.begin(), kNeeded.end(), field) != kNeeded.end()) return false;
  if (field == "tags") return relax_tags(body, memory);
  for (const OtherName& name : kOtherNames)
    if (field == name.wire && memory.tried.insert(field).second) {
      rename_key(body, name.wire, name.seed);
      memory.renamed.push_back(field);
      return true;
    }
  body.erase(field);
  memory.dropped.push_back(field);
  return true;
}

// The field of the body that an entry of "detail" is about; empty when it names none.
std::string field_of(const Json& body, const Json& entry) {
  if (const auto loc = entry.find("loc"); loc != entry.end() && loc->is_array())
    for (const Json& step : *loc)
      if (step.is_string() && body.contains(step.get<std::string>())) return step.get<std::string>();
  // A discriminated union tells of its tag in the text only.
  return text_of(entry, "msg").find("data_source") != std::string::npos && body.contains("data_source") ? "data_source"
                                                                                                        : "";
}

}  // namespace

std::optional<AwsCredentials> parse_credentials(const Json& object, int64_t server_now_ns, int64_t monotonic_ns) {
  AwsCredentials credentials;
  credentials.access_key = first_of(object, {"access_key", "access_key_id", "AccessKeyId", "accessKeyId"});
  credentials.secret_key = first_of(object, {"secret_key", "secret_access_key", "SecretAccessKey", "secretAccessKey"});
  credentials.session_token = first_of(object, {"session_token", "SessionToken", "sessionToken"});
  credentials.region = first_of(object, {"region", "Region"});
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return std::nullopt;
  const auto expires = parse_expiry(first_of(object, {"expires_at", "expiration", "Expiration"}));
  credentials.expires_realtime_ns = expires ? *expires : server_now_ns + kAssumedLife_ns;
  credentials.received_monotonic_ns = monotonic_ns;
  return credentials;
}

bool relax(Json& body, std::string_view answer, Relaxed& memory) {
  const Json json = parse_json(answer);
  if (!json.is_object() || !json.contains("detail") || !json["detail"].is_array() || json["detail"].empty())
    return false;
  std::vector<std::string> fields;
  for (const Json& entry : json["detail"]) {
    if (!entry.is_object()) return false;
    std::string field = field_of(body, entry);
    if (field.empty()) return false;
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) fields.push_back(std::move(field));
  }
  bool changed = true;
  for (const std::string& field : fields) changed = changed && relax_field(body, field, memory);
  return changed;
}

}  // namespace tacho
