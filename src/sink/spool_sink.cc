#include "sink/spool_sink.h"

#include <utility>

#include "base/log.h"
#include "base/time_text.h"
#include "base/units.h"
#include "codec/csv.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int64_t kDiskPatience_ns = 5 * kNsPerSec;

// Whether a driver is there that may still tell of its GPUs.
bool may_have_gpu() {
  return file_exists("/dev/nvidiactl") || file_exists("/proc/driver/nvidia") || file_exists("/dev/kfd") ||
         environment_raw("TACHO_NVML_LIBRARY");  // a driver's library by name
}

}  // namespace

SpoolSink::SpoolSink(SpoolWriter writer, SpoolTarget target, const SinkOptions& options, std::string name)
    : spool_(std::move(writer)),
      target_(std::move(target)),
      upload_interval_ns_(options.upload_interval_ns),
      name_(std::move(name)) {
  target_.no_cloud = options.no_cloud;
  if (options.spooled) options.spooled(*this);
}

Status SpoolSink::begin(const Run& run, const Schema& schema) {
  run_ = &run;
  schema_ = schema;
  text_.clear();
  encode_header(text_);
  header_ = text_.view();
  spool_.set_header(header_);
  return describe();
}

void SpoolSink::encode_header(Writer& out) const { write_csv_header(out, schema_); }

void SpoolSink::encode(Writer& out, const Row& row) { write_csv_row(out, schema_, row); }

void SpoolSink::encode_meta(Writer& out, bool host_known) const { put_base_meta(out, host_known); }

void SpoolSink::put_base_meta(Writer& out, bool host_known) const {
  write_spool_meta(out, *run_, target_, std::string_view(header_).substr(0, header_.find('\n')), host_known);
}

Status SpoolSink::describe(bool sync) {
  if (run_ == nullptr) return ok();
  gpu_known_ = run_->host.host_gpu_count.has_value();
  Writer text;
  encode_meta(text, gpu_known_ || !may_have_gpu());
  const Status status = spool_.write_meta(text.view(), sync);
  meta_synced_ = false;
  if (on_change) on_change();
  return status;
}

Status SpoolSink::write(const Row& row, const Detail*) {
  text_.clear();
  encode(text_, row);
  const Status written = spool_.append(text_.view());
  tell_of_move();
  if (!gpu_known_ && run_->host.host_gpu_count) static_cast<void>(describe());
  since_seal_ns_ += row.interval_ns;
  if (!written) return written;
  // The row nearest to the upload interval is the last of its batch: a tick that comes a moment early must not add one
  // more.
  if (since_seal_ns_ + row.interval_ns / 2 >= upload_interval_ns_ || spool_.open_bytes() >= kSegmentBytes)
    return seal();
  return ok();
}

void SpoolSink::tell_of_move() {
  if (spool_.moved() == std::exchange(moved_, spool_.moved())) return;
  if (moved_)
    log::error("the spool " + spool_.folder() + " takes no more rows; the next ones go to " +
               (spool_.in_memory() ? "memory" : "another folder") + "; make room on its disk");
  else log::info("the spool " + spool_.folder() + " has room again; the next rows go there");
}

Status SpoolSink::seal() {
  since_seal_ns_ = 0;
  const std::string folder = spool_.current_folder(), name = spool_.sealed_name();
  const Status status = spool_.seal(false);
  // A segment is of no use without the description.
  const bool together = status && folder == spool_.meta_folder();
  std::vector<std::string> files;
  if (!meta_synced_) files.emplace_back(kMetaName);
  if (!together && !files.empty()) disk_.request(spool_.meta_folder(), std::exchange(files, {}));
  if (status) {
    files.push_back(name);
    disk_.request(folder, std::move(files));
  }
  meta_synced_ = true;
  any_sealed_ = any_sealed_ || status;
  tell_of_move();
  if (on_change) on_change();
  return status ? disk_.status() : status;
}

Status SpoolSink::end(const Run&) {
  // The outcome first: who sees the last segment knows that it is the last, and that a short run needs no objects.
  // Segments that were promised must not lose their description to one that never reaches the disk.
  const Status described = describe(any_sealed_);
  const Status sealed = seal();
  if (!disk_.wait(kDiskPatience_ns))
    return Error{Code::io, "the disk takes too long: what was sealed last may not survive a power cut",
                 spool_.current_folder(), ""};
  if (!described) return described;
  return sealed ? disk_.status() : sealed;
}

Result<SpoolWriter> make_spool() {
  auto writer = SpoolWriter::create(spool_roots(), compact_utc(system_clock().realtime_ns()));
  std::string named = environment_or("TACHO_SPOOL_DIR");
  while (named.size() > 1 && named.ends_with('/')) named.pop_back();
  if (writer && !named.empty() && !writer->folder().starts_with(named))
    log::error("the spool cannot be in " + named + ", which TACHO_SPOOL_DIR names; it is in " + writer->folder() +
               " (name a folder that can be written to)");
  return writer;
}

Result<std::unique_ptr<Sink>> open_spool_sink(SpoolTarget target, const SinkOptions& options, std::string name) {
  auto writer = make_spool();
  if (!writer) return writer.error();
  return std::unique_ptr<Sink>(
      std::make_unique<SpoolSink>(std::move(*writer), std::move(target), options, std::move(name)));
}

Result<std::unique_ptr<Sink>> open_s3_sink(const std::string& destination, const SinkOptions& options) {
  const std::string rest = destination.substr(5);
  if (rest.empty() || rest[0] == '/')
    return Error{Code::invalid, "this names no bucket", destination, "write s3://BUCKET/PREFIX"};
  constexpr std::string_view kInBucket = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
  const std::string bucket = rest.substr(0, rest.find('/'));
  if (bucket.find_first_not_of(kInBucket) != std::string::npos)
    return Error{Code::invalid, "this is not the name of a bucket", bucket,
                 "letters, digits, -, . and _; write s3://BUCKET/PREFIX"};
  SpoolTarget target;
  target.kind = kBucketKind;
  target.bucket_uri = "s3://" + rest;
  return open_spool_sink(std::move(target), options, destination);
}

}  // namespace tacho
