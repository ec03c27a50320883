// Tells that the task's command has ended: its script then renames rc.tmp to rc in the working directory. Uses inotify
// or, where that is not possible, looks once a second; both are set up on a thread, since a folder may hang. An rc that
// was there from the start does not count. All functions are for one thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "os/fd.h"

namespace tacho {

class CommandWatch {
 public:
  explicit CommandWatch(std::vector<std::string> folders);
  ~CommandWatch();
  CommandWatch(const CommandWatch&) = delete;
  CommandWatch& operator=(const CommandWatch&) = delete;

  int inotify_fd() const;  // −1: not possible here
  int event_fd() const;    // readable when looking found it
  // After one of them was readable: true once an rc appeared.
  bool ended();

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  bool ended_ = false;
};

}  // namespace tacho
