#include "cromwell/call_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/text.h"
#include "cromwell/inputs.h"

namespace tacho {
namespace {

using Token = JsonReader::Token;

struct TextMember {
  std::string_view name;
  std::string Call::*target;
};
constexpr std::array kCallTexts = {
    TextMember{"executionStatus", &Call::status},
    TextMember{"start", &Call::start},
    TextMember{"end", &Call::end},
    TextMember{"dockerImageUsed", &Call::docker_image},
    TextMember{"jobId", &Call::job_id},
    TextMember{"backend", &Call::backend},
    TextMember{"vmStartTime", &Call::vm_start},
    TextMember{"vmEndTime", &Call::vm_end},
    TextMember{"subWorkflowId", &Call::sub_workflow_id},
};
constexpr std::array kAttributeTexts = {
    TextMember{"cpu", &Call::cpu},
    TextMember{"memory", &Call::memory},
    TextMember{"disks", &Call::disks},
    TextMember{"docker", &Call::docker},
    TextMember{"preemptible", &Call::max_preemptible},
    TextMember{"cpuPlatform", &Call::cpu_platform},
    TextMember{"gpuCount", &Call::gpu_count},
    TextMember{"gpuType", &Call::gpu_type},
    TextMember{"predefinedMachineType", &Call::predefined_machine_type},
};
constexpr std::array kPlaceTexts = {
    TextMember{"googleProject", &Call::project},
    TextMember{"zone", &Call::zone},
    TextMember{"instanceName", &Call::instance_name},
    TextMember{"machineType", &Call::machine_type},
};

const TextMember* find(std::span<const TextMember> members, std::string_view name) {
  for (const TextMember& member : members)
    if (member.name == name) return &member;
  return nullptr;
}

// The members of an object that are texts of the call; the others are passed over. Of two such objects the last one
// counts.
bool read_texts(JsonReader& reader, Token first, Call& call, std::span<const TextMember> members, bool& there) {
  if (there)
    for (const TextMember& member : members) (call.*member.target).clear();
  there = first == Token::object;
  if (first != Token::object) return reader.skip(first);
  for (;;) {
    const Token token = reader.next();
    if (token == Token::end_object) return true;
    if (token != Token::key) return false;
    const TextMember* const member = find(members, reader.text());
    const Token value = reader.next();
    if (!(member != nullptr ? read_text(reader, value, call.*member->target) : reader.skip(value))) return false;
  }
}

bool read_integer(JsonReader& reader, Token first, MaybeInteger& number) {
  number.clear();
  std::string text;
  if (!read_text(reader, first, text)) return false;
  if (first == Token::null) return true;
  const std::string_view digits = trim(text);
  number.value = parse_int<int64_t>(digits);
  // 2.0 and 1e1 are integers too; anything else is not one.
  if (const auto real = parse_double(digits);
      !number.value && real && std::fabs(*real) < 1e15 && *real == std::floor(*real))
    number.value = static_cast<int64_t>(*real);
  if (!number.value) number.unreadable = text.empty() ? "(no number)" : text.substr(0, 100);
  return true;
}

bool read_flag(JsonReader& reader, Token first, std::optional<bool>& flag) {
  flag.reset();
  std::string text;
  if (!read_text(reader, first, text)) return false;
  if (!text.empty()) flag = parse_bool(text);
  return true;
}

// {"hit":true,…}
bool read_caching(JsonReader& reader, Token first, std::optional<bool>& hit) {
  hit.reset();
  if (first != Token::object) return reader.skip(first);
  for (;;) {
    const Token token = reader.next();
    if (token == Token::end_object) return true;
    if (token != Token::key) return false;
    const bool is_hit = reader.text() == "hit";
    const Token value = reader.next();
    if (!(is_hit ? read_flag(reader, value, hit) : reader.skip(value))) return false;
  }
}

enum class CallMember {
  other,
  shard,
  attempt,
  preemptible,
  return_code,
  cost,
  caching,
  jes,
  batch,
  attributes,
  inputs,
  sub_workflow
};

CallMember member_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, CallMember>, 11> kMembers = {
      {{"shardIndex", CallMember::shard},
       {"attempt", CallMember::attempt},
       {"preemptible", CallMember::preemptible},
       {"returnCode", CallMember::return_code},
       {"vmCostPerHour", CallMember::cost},
       {"callCaching", CallMember::caching},
       {"jes", CallMember::jes},
       {"gcpBatch", CallMember::batch},
       {"runtimeAttributes", CallMember::attributes},
       {"inputs", CallMember::inputs},
       {"subWorkflowMetadata", CallMember::sub_workflow}}};
  for (const auto& [known, member] : kMembers)
    if (known == name) return member;
  return CallMember::other;
}

}  // namespace

bool read_text(JsonReader& reader, Token first, std::string& text) {
  text.clear();
  switch (first) {
    case Token::string:
    case Token::number: text = reader.text(); return true;
    case Token::yes: text = "true"; return true;
    case Token::no: text = "false"; return true;
    case Token::array: break;
    default: return reader.skip(first);
  }
  // Lists within lists are joined the same way. One text for all of them, within the limit: a list of nothing but
  // commas may be as long as a document, and nested as deep as one.
  const auto append = [&](std::string_view part) {
    text.append(part.substr(0, JsonReader::kTextLimit - std::min(JsonReader::kTextLimit, text.size())));
  };
  for (int open = 1; open > 0;) {
    const Token token = reader.next();
    if (token == Token::end_array) {
      --open;
      continue;
    }
    if (token == Token::broken) return false;
    if (token == Token::array) {
      ++open;
      continue;
    }
    if (!text.empty()) append(",");
    if (token == Token::string || token == Token::number) append(reader.text());
    else if (token == Token::yes) append("true");
    else if (token == Token::no) append("false");
    else if (!reader.skip(token)) return false;
  }
  return true;
}

bool read_call(JsonReader& reader, Call& call, bool with_inputs, const std::function<bool(Token)>& sub_workflow) {
  MaybeInteger number;
  std::string text;
  for (;;) {
    const Token token = reader.next();
    if (token == Token::end_object) return true;
    if (token != Token::key) return false;
    const CallMember member = member_of(reader.text());
    const TextMember* const plain = member == CallMember::other ? find(kCallTexts, reader.text()) : nullptr;
    const Token value = reader.next();
    bool good = true;
    switch (member) {
      case CallMember::other:
        good = plain != nullptr ? read_text(reader, value, call.*plain->target) : reader.skip(value);
        break;
      case CallMember::shard: good = read_integer(reader, value, call.shard); break;
      case CallMember::attempt: good = read_integer(reader, value, call.attempt); break;
      case CallMember::preemptible: good = read_flag(reader, value, call.preemptible); break;
      case CallMember::return_code:
        good = read_integer(reader, value, number);
        call.return_code = number.value;
        break;
      case CallMember::cost:
        good = read_text(reader, value, text);
        call.vm_cost_per_hour = parse_double(text);
        break;
      case CallMember::caching: good = read_caching(reader, value, call.cache_hit); break;
      case CallMember::jes: good = read_texts(reader, value, call, kPlaceTexts, call.has_jes); break;
      case CallMember::batch: good = read_texts(reader, value, call, kPlaceTexts, call.has_batch); break;
      case CallMember::attributes: good = read_texts(reader, value, call, kAttributeTexts, call.has_attributes); break;
      case CallMember::inputs:
        // A call with a sub-workflow has no row of its own.
        good = with_inputs && !call.has_sub_workflow && value == Token::object ? read_inputs(reader, call)
                                                                               : reader.skip(value);
        break;
      case CallMember::sub_workflow:
        call.has_sub_workflow = value == Token::object;
        std::vector<CallInput>().swap(call.inputs);  // those of calls inside of it need the room
        good = sub_workflow(value);
        break;
    }
    if (!good) return false;
  }
}

}  // namespace tacho
