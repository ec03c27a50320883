// Takes connections for gRPC, whose own listener ends for good once it meets the limit of open files: this one waits
// until there is room again, and leaves some descriptors to the store. Thread-safe.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "os/listening_socket.h"

namespace tacho {

class GrpcListener {
 public:
  // HOST:PORT with a name or an address, IPv6 in brackets; 0.0.0.0 is every address of both families.
  static Result<std::unique_ptr<GrpcListener>> open(const std::string& place);
  ~GrpcListener() { stop(); }
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  int port() const { return sockets_.front().port; }
  void start(std::function<void(Fd client)> take);  // called on a thread of the listener's
  void stop();                                      // nobody is taken after it

 private:
  explicit GrpcListener(std::vector<ListeningSocket> sockets) : sockets_(std::move(sockets)) {}
  void run();
  bool accept_from(int fd);  // false: there is no room

  std::vector<ListeningSocket> sockets_;
  const ReservedDescriptors descriptors_{16'384};
  std::function<void(Fd client)> take_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tacho
