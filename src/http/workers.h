// A few threads that run what may wait: a loop that waited would keep all its connections waiting. Thread-safe.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tacho {

class RequestWorkers {
 public:
  explicit RequestWorkers(int count);
  ~RequestWorkers() { stop(); }
  void add(std::function<void()> task);
  void stop();  // what has begun is finished, what waits is dropped

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  int idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tacho
