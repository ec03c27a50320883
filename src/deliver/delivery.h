// A delivery: one spooled run on its way to its destination, whatever that is. step() does what is due, at most one
// call over the network, and says when it wants to be called again. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deliver/notices.h"
#include "deliver/records.h"
#include "net/aws/s3.h"
#include "net/http/http.h"
#include "os/clock.h"
#include "spool/reader.h"

namespace tacho {

// Who asked for the delivery; decides what may be done with a run that the service does not know.
enum class Role {
  beside,      // started by the agent of this very run
  background,  // a leftover of another run, found in passing
  command,     // tacho deliver --all
  named,       // tacho deliver RUN
};

struct Step {
  enum class Kind { wait, done, left } kind = Kind::wait;
  int64_t wake_ns = 0;  // on CLOCK_MONOTONIC
};

class Delivery;

// What all deliveries of a process share.
struct Delivering {
  HttpClient& http;
  Notices& notices;
  std::string token;
  std::function<void(Json& start, const SpoolMeta& meta)> add_cloud;  // completes a start body; may be empty
  std::function<Result<AwsCredentials>(const SpoolMeta&)>
      bucket_credentials;  // for a run that goes straight to a bucket
  Clock& clock = system_clock();
  std::function<bool()> ending{};  // beside a run: it is over, and little time is left; may be empty
  std::function<void(Delivery& delivery, bool delivered)> told{};  // of each run that is done with; may be empty
  std::vector<std::string> places{};  // addresses of our own outputs, to which credentials for metrics may go
};

// How far a run came, for tacho deliver --json.
struct DeliveryProgress {
  std::string run, destination, dead_letter;
  int64_t sent = 0, refused = 0, waiting = 0;
  bool blocked = false;  // by a setting that is wrong
};

class MetricRun;

class Delivery {
 public:
  virtual ~Delivery() = default;
  virtual Step step() = 0;
  // The owner has ended or died: nothing more will be written. A torn end is cut off; the rest must be done by this
  // time (0: no limit).
  virtual void finish(int64_t deadline_ns) = 0;
  // What is left, and why.
  virtual const std::string& reason() const = 0;
  // Of kinds that count.
  virtual std::optional<DeliveryProgress> progress() { return std::nullopt; }
  // When a request in flight is no longer worth waiting for; 0: no limit.
  virtual int64_t cancel_at_ns() const = 0;

  // Leftovers of other runs: whether nothing of this run is urgent, so that they may be sent, and whether one goes to
  // the same place by our own settings, and so is ours to send.
  virtual bool is_registered() const = 0;
  virtual bool sends_too(const SpoolMeta&) const { return false; }

  // Kinds of which several runs go in one request. After join(), which says whether this is one, somebody else sends
  // what ready() gives, and step() only prepares and tidies up. leave() writes down how far it came.
  virtual bool join() { return false; }
  virtual MetricRun* ready() { return nullptr; }
  virtual void leave() {}
};

// By what meta.json says (deliver/kinds.h).
std::unique_ptr<Delivery> make_delivery(SpoolRun run, Role role, Delivering& shared);

// The whole run has arrived: removes the files that the spool made. Says so if something else keeps the folder.
void remove_delivered(SpoolRun& run, Notices& notices);

}  // namespace tacho
