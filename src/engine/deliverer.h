// The deliverer beside the run: tacho-deliver is started with the spool folders of this run, gets the token through a
// pipe, sends what is sealed and closes the run. The spool is all that lies between the two; the pipe only wakes it up
// and, by closing, tells of tacho's end. No token and no bucket: no spool, no process, no connection. Not thread-safe.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/deliverer_process.h"
#include "engine/restarts.h"
#include "engine/settings.h"
#include "job/job.h"
#include "os/clock.h"
#include "sink/sink.h"

namespace tacho {

// The token of the service, read once and wiped from the environment. Kept out of core dumps.
class Token {
 public:
  Token();  // SENTINEL_API_TOKEN, else SENTINEL_API_KEY
  ~Token();
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

  std::string_view view() const { return {data_, size_}; }
  bool empty() const { return size_ == 0; }
  bool is_valid() const;  // fits into a header line

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// What the deliverer is told of receivers of metrics: secrets, which are wiped from the environment here, and the
// addresses of this run's outputs. Lines of the pipe; wiped at the end.
class MetricSettings {
 public:
  MetricSettings() = default;
  ~MetricSettings();
  MetricSettings(const MetricSettings&) = delete;
  MetricSettings& operator=(const MetricSettings&) = delete;
  void read(const std::vector<SpoolSink*>& sinks);
  std::string_view lines() const { return lines_; }

 private:
  std::string lines_;
};

class Deliverer {
 public:
  // The sink of the service when a token is set, else null. Never an error: a spool that cannot be made is reported.
  std::unique_ptr<Sink> open_service(const Settings& settings, const SinkOptions& options);

  // One whose rows are to be sent; it must live as long as this.
  void add(SpoolSink& sink) { sinks_.push_back(&sink); }
  bool is_needed() const { return !sinks_.empty(); }
  // When all sinks are known, and before there is a job that could read this process's environment.
  void take_secrets() { metric_settings_.read(sinks_); }
  // Starts the program for the sinks, whose runs are described now. Returns its pid, 0 when there is none.
  // `later`: nobody sends now; the folders are free when this process is gone.
  pid_t start(const std::string& store_folder, int64_t now_ns, bool later = false);
  // Passes on what the deliverer had to say. Called at every tick.
  void relay();

  // For every process that was reaped. True when it was the deliverer, whose number may now become another's.
  bool ended(const Exit& exit, int64_t now_ns);
  // When one that ended in the middle of the run is started again; far away otherwise.
  int64_t restart_at_ns() const { return restarts_.at_ns(); }
  pid_t restart(int64_t now_ns);  // its pid, 0 when that failed
  std::string note() const;       // for run.json; empty when all went well

  // After the sinks' end: waits until everything is delivered, at most for the finish budget, which a signal to tacho
  // shortens; two Ctrl-C within two seconds end it. True when nothing is left in the spool.
  bool finish(Clock& clock, Job& job, const std::string& run_id);

 private:
  void keep_back_service();
  Status launch(int64_t now_ns);
  void give_up(const std::string& why);
  bool delivered() const;
  void tell_what_is_left(const std::string& run_id) const;

  Token token_;
  std::vector<SpoolSink*> sinks_;
  std::vector<std::string> folders_;
  MetricSettings metric_settings_;
  DelivererProcess process_;
  Restarts restarts_;
  int end_status_ = 0, ends_ = 0, restarted_ = 0;  // of the last deliverer that ended, and how many did
  std::string kept_back_;                          // the service's folder when the token cannot be sent
  bool later_ = false;
  bool refused_ = false;  // a receiver of metrics took some samples not
  bool started_ = false, began_ = false, told_restart_ = false, told_given_up_ = false, reported_ = false;
};

}  // namespace tacho
