// Asks several providers at once and names the winner: by precedence, never by who answers first. Deadlines: 1 s to
// connect, 1 s for an answer, 2 s a provider, 3 s for everything. A question is repeated only when its connection was
// reset, once. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cloud/plan.h"
#include "net/http/http_multi.h"

namespace tacho {

class Prober {
 public:
  Prober(std::vector<Candidate> candidates, int64_t now_ns);
  // True when the winner is known, or that there is none.
  bool work(int64_t until_ns);
  // Without a winner all values are absent.
  Cloud winner() const;
  // The winner has given all its answers.
  bool is_complete() const;

 private:
  struct Probe {
    Candidate candidate;
    Found found;
    CloudStep step;
    Replies replies;
    std::vector<bool> repeated;
    size_t base = 0, open = 0;
    bool first_round = true, done = false, complete = true;
  };

  void begin(size_t index);
  void send(size_t index);
  void ask(size_t index, size_t question);
  void take(uint64_t id, HttpReply reply);
  void advance(size_t index);
  void cut_off(size_t index);
  bool decide();

  int64_t start_ns_;
  HttpMulti http_;
  std::vector<std::unique_ptr<Probe>> probes_;  // steps refer to their Found: it must not move
  const Probe* winner_ = nullptr;
};

}  // namespace tacho
