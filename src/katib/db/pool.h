// Connections that wait for their next use. take() hands one out or makes a new one; what it returned comes back by
// itself. A user throws a broken connection away. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tacho {

template <class Connection>
class Pool {
 public:
  using Make = std::function<Result<std::unique_ptr<Connection>>()>;
  explicit Pool(Make make) : make_(std::move(make)) {}

  class Lease {
   public:
    Lease(Pool* pool, std::unique_ptr<Connection> connection) : pool_(pool), connection_(std::move(connection)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) pool_->give_back(std::move(connection_));
    }
    Connection* operator->() const { return connection_.get(); }
    Connection& operator*() const { return *connection_; }
    void discard() { connection_.reset(); }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  Result<Lease> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Lease lease(this, std::move(idle_.back()));
        idle_.pop_back();
        return lease;
      }
    }
    Result<std::unique_ptr<Connection>> made = make_();
    if (!made) return made.error();
    return Lease(this, std::move(*made));
  }
  // After a restart of the server all of them are broken.
  void clear() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  void give_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  Make make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace tacho
