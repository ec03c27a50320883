// A thread that does one job at a time, for calls that block (gRPC, HTTP); the loop that gives it jobs is woken through
// a descriptor when a job has ended. The thread starts with the first job and is never joined: a call that hangs cannot
// keep the process from ending, so a job owns all that it touches. All functions are for the loop's thread.
#pragma once
#include <functional>
#include <memory>

namespace tacho {

class Worker {
 public:
  explicit Worker(const char* name);  // a literal of at most 15 letters
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int fd() const;  // readable when a job has ended
  bool busy() const { return busy_; }
  // Not while busy. False when the system gives no thread.
  bool start(std::function<void()> job);
  // True once after each job.
  bool finished();

 private:
  struct Shared;
  const char* name_;
  std::shared_ptr<Shared> shared_;
  bool busy_ = false, running_ = false;
};

}  // namespace tacho
