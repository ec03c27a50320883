#include "cromwell/sender.h"

#include <fcntl.h>

#include <cerrno>
#include <mutex>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/line_file.h"

namespace tacho {
namespace {

constexpr size_t kLargeBatch = size_t{1} << 20;  // of which not three are held at a time

}  // namespace

Status append_ndjson(const std::string& path, std::string_view lines) {
  if (path == "-") return write_all(1, lines);
  const auto fd = open_to_append(path, 0644);
  if (!fd || ::fcntl(fd->get(), F_SETFL, O_APPEND) != 0) {  // a pipe's reader is waited for
    Error error = fd ? system_error("", path, errno) : fd.error();
    error.what = "cannot write the rows for a load job";
    error.hint += "; name another file with --ndjson";
    return error;
  }
  return write_all(fd->get(), lines);
}

Sender::Sender(SenderSettings settings)
    : settings_(std::move(settings)), thread_([this] {
        // Nothing that a row holds may end the program.
        try {
          run();
        } catch (const std::exception& error) {
          fail(std::string("the rows could not be sent: ") + error.what(), true);
        }
      }) {}

Sender::~Sender() { finish(); }

bool Sender::push(std::vector<BqRow> batch) {
  size_t bytes = 0;
  for (const BqRow& row : batch) bytes += row.json.size();
  std::unique_lock lock(wait_lock_);
  while ((waiting_ || (busy_ && bytes > kLargeBatch)) && result_.why.empty()) wait_lock_.wait();
  if (!result_.why.empty()) return false;
  waiting_ = std::move(batch);
  wait_lock_.notify_all();
  return true;
}

SenderResult Sender::finish() {
  {
    const std::lock_guard lock(wait_lock_);
    over_ = true;
    wait_lock_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  return result_;
}

void Sender::fail(std::string why, bool later) {
  const std::lock_guard lock(wait_lock_);
  if (!result_.why.empty()) return;
  result_.why = std::move(why);
  result_.later = later;
  wait_lock_.notify_all();
}

void Sender::run() {
  HttpClient http;
  GoogleToken token(http, settings_.auth);
  auto client = BigQuery::open(http, settings_.bq, &token);
  if (!client) return fail(client.error().message(), false);
  std::string old_rows;
  BqEvents events;
  events.dropped = [&](const BqDropped& dropped) {
    if (dropped.out_of_bounds) {
      old_rows.append(dropped.row.json).append("\n");
      const std::lock_guard lock(wait_lock_);
      ++result_.too_old;
      return;
    }
    log::error("BigQuery refuses a row of " + settings_.spec.table + ": " + dropped.message +
               (dropped.location.empty() ? "" : " at " + dropped.location) + " (insertId " + dropped.row.insert_id +
               ")");
    const std::lock_guard lock(wait_lock_);
    ++result_.dropped;
  };
  // Why nothing goes stands in the result; nothing is kept here, as it is beside a run.
  events.warn = [](const std::string& kind, const std::string& text) {
    if (!kind.starts_with("blocked")) log::warn(text);
  };
  BqStream stream(*client, settings_.spec, events);
  for (;;) {
    std::vector<BqRow> batch;
    {
      std::unique_lock lock(wait_lock_);
      while (!waiting_ && !over_) wait_lock_.wait();
      if (!waiting_) break;
      batch = std::move(*waiting_);
      waiting_.reset();
      busy_ = true;
      wait_lock_.notify_all();
      if (!result_.why.empty()) continue;  // taken so that nobody waits, and not sent
    }
    send(std::move(batch), stream);
    {
      const std::lock_guard lock(wait_lock_);
      busy_ = false;
      wait_lock_.notify_all();
    }
    if (old_rows.empty()) continue;
    if (const Status status = append_ndjson(settings_.ndjson_path, old_rows); !status)
      fail(status.error().message(), false);
    else result_.too_old_path = settings_.ndjson_path;  // read after this thread has ended
    old_rows.clear();
  }
}

void Sender::send(std::vector<BqRow> batch, BqStream& stream) {
  const int64_t before = stream.accepted();
  for (BqRow& row : batch) stream.add(std::move(row));
  const BqStep step = stream.flush(system_clock().monotonic_ns() + settings_.patience_ms * kNsPerMs);
  {
    const std::lock_guard lock(wait_lock_);
    result_.accepted += stream.accepted() - before;
  }
  if (step.kind != BqStep::Kind::idle) fail("the rows could not be sent to BigQuery: " + stream.reason(), true);
}

}  // namespace tacho
