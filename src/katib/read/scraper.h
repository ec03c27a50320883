// Scrapes the trainer's HTTP endpoint on a thread of its own, one scrape at a time, and hands over the rows of new
// samples. Failures are logged when they begin and when they end; before the first success a closed port is normal.
// Loop's thread only.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "http/client.h"
#include "katib/read/prometheus_source.h"
#include "katib/read/worker.h"

namespace tacho {

class Scraper {
 public:
  Scraper(HttpTarget target, PrometheusSource source, int64_t timeout_ns);

  int fd() const { return worker_.fd(); }
  bool busy() const { return worker_.busy(); }
  void start(int64_t now_ns);  // not while busy
  // When fd() is readable: rows of the scrape that ended. True when one has.
  bool take(const Reader::Take& take);
  // Training is over and nothing is under way: the last seen samples that made no row.
  void finish(const Reader::Take& take);
  // Not while busy.
  std::string state() const;
  Status restore(std::string_view json);

 private:
  struct Shared {
    Shared(HttpTarget target, PrometheusSource source) : client(std::move(target)), source(std::move(source)) {}
    GetClient client;
    PrometheusSource source;
    std::vector<MetricRow> rows;
    std::string fault;     // "" when the scrape was good
    bool refused = false;  // nobody listens
  };
  static void scrape(Shared& shared, int64_t deadline_ns);

  Worker worker_{"tacho-scrape"};
  std::shared_ptr<Shared> shared_;
  int64_t timeout_ns_;
  bool any_success_ = false, failing_ = false;
};

}  // namespace tacho
