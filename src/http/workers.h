// A few threads that run tasks that may wait: a loop that waited would keep all its connections waiting. The bytes
// worked on at a time are bounded, since what is made of them takes a multiple. A small task may overtake large ones
// that have to wait, but not for ever. Thread-safe.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tacho {

class RequestWorkers {
 public:
  RequestWorkers(int count, size_t bytes_at_once);
  ~RequestWorkers() { stop(); }
  void add(size_t bytes, std::function<void()> task);
  void stop();  // what has begun is finished, what waits is dropped

 private:
  struct Task {
    size_t bytes = 0;
    std::function<void()> run;
  };
  void run();
  bool take(Task& task);  // the first that fits; the caller has the lock

  const size_t bytes_at_once_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  size_t bytes_ = 0;  // of the tasks that run
  int passed_ = 0;    // how often the first was passed by
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tacho
