// Rows into the spool, for everything remote: the service when a token is set, and -o s3://bucket/prefix. Sends nothing
// itself; tacho-deliver does, from the folder that this makes. Batches are sealed from within write(), by the time that
// the rows cover; what makes them survive a power cut is done by a thread, as no tick waits for a busy disk. Not
// thread-safe; a row allocates nothing, a seal does.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/writer.h"
#include "sink/sink.h"
#include "sink/spool_meta.h"
#include "spool/disk_sync.h"
#include "spool/writer.h"

namespace tacho {

class SpoolSink : public Sink {
 public:
  SpoolSink(SpoolWriter writer, SpoolTarget target, const SinkOptions& options, std::string name);

  Status begin(const Run& run, const Schema& schema) override;
  Status write(const Row& row, const Detail*) override;
  Status end(const Run& run) override;
  void discard() override { spool_.discard(); }
  std::string_view name() const override { return name_; }

  const std::string& folder() const { return spool_.folder(); }
  int lock_fd() const { return spool_.lock_fd(); }
  const SpoolTarget& target() const { return target_; }
  void set_store_folder(std::string folder) { target_.store_folder = std::move(folder); }
  // The run is known better now (host, pid): writes meta.json again. With `sync` its bytes are on the disk before it
  // takes the old one's place.
  Status describe(bool sync = false);
  // Called when there is something new to send.
  std::function<void()> on_change;

 protected:
  // What goes into the spool; CSV unless a destination wants something else.
  virtual void encode_header(Writer& out) const;
  virtual void encode(Writer& out, const Row& row);
  virtual void encode_meta(Writer& out, bool host_known) const;
  void put_base_meta(Writer& out, bool host_known) const;  // what every kind with CSV has
  const Run* run() const { return run_; }
  const Schema& schema() const { return schema_; }
  SpoolWriter& spool_writer() { return spool_; }

 private:
  Status seal();
  void tell_of_move();

  SpoolWriter spool_;
  DiskSync disk_;
  SpoolTarget target_;
  int64_t upload_interval_ns_;
  std::string name_, header_;
  Schema schema_;
  const Run* run_ = nullptr;
  Writer text_;
  int64_t since_seal_ns_ = 0;
  bool gpu_known_ = false, meta_synced_ = false, any_sealed_ = false, moved_ = false;
};

// Makes the run's folder in the spool. upload_interval_ns of at least a second.
Result<std::unique_ptr<Sink>> open_spool_sink(SpoolTarget target, const SinkOptions& options, std::string name);
// A folder in the spool for a run that begins now.
Result<SpoolWriter> make_spool();
// -o s3://bucket/prefix
Result<std::unique_ptr<Sink>> open_s3_sink(const std::string& destination, const SinkOptions& options);

}  // namespace tacho
