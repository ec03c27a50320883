// A kind of object, watched for as long as the program runs: its resource is found by discovery, and waiting for a CRD
// that is not installed yet holds nobody up. It has a thread of its own; everything is thread-safe.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/discovery.h"
#include "kube/api/watch.h"
#include "os/fd.h"

namespace tacho {

struct KindName {
  std::string api_version, kind;
  bool operator==(const KindName&) const = default;
};
// "Job.v1.batch" as katib-config writes it; an empty group is the core one. Nothing when it has another form.
std::optional<KindName> parse_kind(std::string_view text);
// The kinds of jobs that Katib knows; those whose CRD is missing are not watched.
std::vector<KindName> usual_job_kinds(bool with_made_jobs = false);  // job_kinds.h; also what these make: JobSet

class ResourceWatch {
 public:
  // `options.path` and `options.resource` are filled in here. An empty namespace is all of them.
  ResourceWatch(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd, KindName kind,
                std::string ns, WatchOptions options);
  ~ResourceWatch();  // stop_fd must be readable by then
  void start();

  const KindName& kind() const { return kind_; }
  // The cache was filled once, or the kind is known to be missing.
  bool settled() const;
  // The server does not let us list the kind, or ask about it.
  bool refused() const;
  // nullptr until the kind is known to be there.
  Watch* watch() const { return watch_ptr_.load(); }
  // Empty `json` when it is not in the cache.
  CachedObject get(const std::string& key) const;

 private:
  void run();

  std::shared_ptr<ApiServer> server_;
  std::shared_ptr<Discovery> discovery_;
  int stop_fd_;
  KindName kind_;
  std::string ns_;
  WatchOptions options_;
  std::unique_ptr<Watch> watch_;
  std::atomic<Watch*> watch_ptr_{nullptr};
  std::atomic<bool> missing_{false}, denied_{false};
  std::thread thread_;
};

// A descriptor that becomes readable when the program is to end (or something is to be looked at), and stays so until
// it is cleared. Thread-safe.
class StopSignal {
 public:
  StopSignal();
  int fd() const { return fd_.get(); }
  void raise();
  void clear();
  bool raised() const;

 private:
  Fd fd_;
};

}  // namespace tacho
