#include "katib/db/calls.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <climits>

#include "base/text.h"
#include "katib.pb.h"
#include "katib/db/report_message.h"
#include "katib/model/time_stamp.h"

namespace tacho {
namespace {

constexpr size_t kNameCharacters = 255;  // VARCHAR(255)
constexpr const char* kNoTime = " is no RFC 3339 time (2026-11-15T09:30:00.25Z)";

grpc::Status status_of(const Error& error) {
  return {error.code == Code::invalid ? grpc::StatusCode::UNKNOWN : grpc::StatusCode::UNAVAILABLE, error.message()};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Cut, so that it fits in the headers of the answer.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  out += valid_utf8(text.substr(0, 80));
  return out += text.size() > 80 ? "…\"" : "\"";
}

std::string place(const ReportRow& row) {
  std::string text = "row " + std::to_string(row.number) + " of the report";
  if (row.has_metric) text += ", metric " + quoted(row.name);
  return text;
}

// What is wrong with a row, with its own code; `skip` is set for one that is left out.
grpc::Status check_row(const ReportRow& row, bool& skip) {
  skip = row.time_stamp.empty();
  if (!is_utf8(row.time_stamp) || !is_utf8(row.name) || !is_utf8(row.value)) {
    return {grpc::StatusCode::INTERNAL, place(row) + ": holds a string that is not UTF-8"};
  }
  if (skip) return grpc::Status::OK;
  if (!row.has_metric)
    return {grpc::StatusCode::INVALID_ARGUMENT,
            place(row) + ", time_stamp " + quoted(row.time_stamp) + ": has no metric"};
  if (!parse_time_stamp_us(row.time_stamp)) {
    return {grpc::StatusCode::UNKNOWN, place(row) + ": time_stamp " + quoted(row.time_stamp) + kNoTime};
  }
  if (row.name.size() > kNameCharacters && count_characters(row.name) > kNameCharacters) {
    return {grpc::StatusCode::UNKNOWN, place(row) + ": the name is longer than 255 characters"};
  }
  return grpc::Status::OK;
}

// The rows to be stored; the first bad one ends it, and `refusal` says why.
Status each_row(const grpc::ByteBuffer& request, grpc::Status& refusal, const TakeRow& take) {
  grpc::ByteBuffer bytes(request);  // shares the memory; the reader wants one of its own
  grpc::ProtoBufferReader stream(&bytes);
  return read_report_rows(stream, [&](const ReportRow& row) -> Status {
    bool skip = false;
    refusal = check_row(row, skip);
    if (!refusal.ok()) return Error{Code::invalid, refusal.error_message(), "", ""};
    return skip ? ok() : take(row);
  });
}

grpc::Status check_trial(const std::string& trial) {
  if (!is_utf8(trial)) return {grpc::StatusCode::INTERNAL, "trial_name is not UTF-8"};
  if (count_characters(trial) > kNameCharacters) {
    return {grpc::StatusCode::UNKNOWN, "trial_name " + quoted(trial) + " is longer than 255 characters"};
  }
  return grpc::Status::OK;
}

grpc::Status store_rows(ObservationStore& store, const grpc::ByteBuffer& request, const std::string& trial,
                        const std::string& id, const std::function<bool()>& gone) {
  auto batch = store.begin(trial, id);
  if (!batch) return status_of(batch.error());
  if ((*batch)->known()) return grpc::Status::OK;
  grpc::Status refusal;
  const Status stored = each_row(request, refusal, [&](const ReportRow& row) {
    return (*batch)->add(*parse_time_stamp_us(row.time_stamp), row.name, row.value);
  });
  if (!stored) return status_of(stored.error());
  // Whoever gave up looks whether the rows are there, does not find them, and sends them again.
  if (gone && gone()) return grpc::Status::CANCELLED;
  const Status committed = (*batch)->commit();
  return committed ? grpc::Status::OK : status_of(committed.error());
}

}  // namespace

grpc::Status report_call(ObservationStore& store, const grpc::ByteBuffer& request, const std::string& id,
                         const std::function<bool()>& gone) {
  grpc::ByteBuffer bytes(request);
  grpc::ProtoBufferReader stream(&bytes);
  const Result<std::string> trial = read_trial_name(stream);
  if (!trial) return {grpc::StatusCode::INTERNAL, trial.error().message()};
  if (const grpc::Status status = check_trial(*trial); !status.ok()) return status;
  // Everything is looked at before the store is touched: a bad report costs no transaction, an empty one nothing at
  // all.
  grpc::Status refusal;
  int64_t rows = 0;
  const Status checked = each_row(request, refusal, [&](const ReportRow&) -> Status { return ++rows, ok(); });
  if (!refusal.ok()) return refusal;
  if (!checked) return {grpc::StatusCode::INTERNAL, checked.error().message()};
  return rows == 0 ? grpc::Status::OK : store_rows(store, request, *trial, id, gone);
}

grpc::Status get_call(ObservationStore& store, const grpc::ByteBuffer& request, grpc::ByteBuffer& reply) {
  api::v1::beta1::GetObservationLogRequest question;
  grpc::ByteBuffer bytes(request);
  const grpc::Status parsed =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::MessageLite>(&bytes, &question);
  if (!parsed.ok()) return parsed;
  LogQuery query{question.trial_name(), question.metric_name(), {}, {}};
  const auto bound = [](const std::string& text, const char* field, std::optional<int64_t>& time_us) -> grpc::Status {
    if (text.empty()) return grpc::Status::OK;
    time_us = parse_time_stamp_us(text);
    if (time_us) return grpc::Status::OK;
    return {grpc::StatusCode::UNKNOWN, std::string(field) + " " + quoted(text) + kNoTime};
  };
  if (const grpc::Status status = bound(question.start_time(), "start_time", query.from_us); !status.ok())
    return status;
  if (const grpc::Status status = bound(question.end_time(), "end_time", query.to_us); !status.ok()) return status;

  ReplyBytes answer;
  const Status read = store.read(query, [&](int64_t time_us, std::string_view metric, std::string_view value) {
    // Beyond the limit nothing can be sent: no need to keep it either.
    if (answer.total_bytes() < INT_MAX) answer.add(TimeStampText(time_us).wire(), metric, value);
  });
  if (!read) return status_of(read.error());
  const std::string head = answer.head();
  if (answer.total_bytes() + head.size() > INT_MAX) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            "the answer is larger than 2 GiB; ask with metric_name, start_time or end_time"};
  }
  std::vector<grpc::Slice> slices = {grpc::Slice(head)};
  for (std::string& part : answer.parts()) {
    slices.emplace_back(part);
    std::string().swap(part);  // copied: a large answer is not kept twice
  }
  reply = grpc::ByteBuffer(slices.data(), slices.size());
  return grpc::Status::OK;
}

grpc::Status delete_call(ObservationStore& store, const std::string& trial) {
  const Status removed = store.remove(trial);
  return removed ? grpc::Status::OK : status_of(removed.error());
}

grpc::Status health_call(ObservationStore& store, const std::string& service) {
  if (!service.empty() && service != "grpc.health.v1.Health") {
    return {grpc::StatusCode::UNKNOWN, "service must be empty or grpc.health.v1.Health, not " + quoted(service)};
  }
  const Status alive = store.probe();
  return alive ? grpc::Status::OK : status_of(alive.error());
}

}  // namespace tacho
