// How full file systems are, asked on a thread of its own, because a mount whose server or disk is gone may block for
// ever. The sampling thread asks at the start of a tick and looks for the answers at its end. A mount that does not
// answer in time keeps the thread that hangs in it, and another thread goes on with the rest; so one mount never costs
// another its figures, and there are as many threads as mounts that hang, plus one. All functions are for the sampling
// thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "os/mounts.h"
#include "os/thread.h"

namespace tacho {

struct SpaceAnswer {
  bool ok = false;  // answered in this round
  Space space;
  std::string real_path;  // without links; empty until known
};

class SpaceWorkers {
 public:
  // What is asked of a path; another one in tests.
  using Ask = std::function<bool(const std::string& path, Space& space, std::string& real_path)>;

  explicit SpaceWorkers(std::vector<std::string> paths, Ask ask = ask_kernel);
  ~SpaceWorkers();
  SpaceWorkers(const SpaceWorkers&) = delete;
  SpaceWorkers& operator=(const SpaceWorkers&) = delete;

  void request();
  // Waits for the answers to the last request, at most so long, and not for mounts that are known to hang.
  void take(int64_t patience_ns, std::vector<SpaceAnswer>& answers);

  static bool ask_kernel(const std::string& path, Space& space, std::string& real_path);

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared, uint64_t crew);
  bool start_worker();

  std::shared_ptr<Shared> shared_;
};

}  // namespace tacho
