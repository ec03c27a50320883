// A few threads that do what they are given, in order: for calls that may block where their caller must not.
// Thread-safe. The destructor does what is left and ends them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tacho {

class Workers {
 public:
  explicit Workers(int count);
  ~Workers();
  void add(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tacho
