// What attempts cost: by vm_cost_per_hour where Cromwell wrote it, else by the cheapest server of a price list that has
// what was asked for. What sizing as advised would have cost is known by a price list alone. Not thread-safe.
#pragma once
#include <map>
#include <string>
#include <tuple>

#include "cromwell/analyze_attempts.h"
#include "model/prices.h"

namespace tacho {

struct Money {
  double spent = 0, saved = 0;        // saved: below zero where more was needed than was asked for
  size_t spent_of = 0, saved_of = 0;  // attempts whose money is known

  void add(double cost, double saving);
  void add(const Money& other);
};

class CostTable {
 public:
  CostTable() = default;
  explicit CostTable(PriceList list);

  struct HourPrice {
    double amount = kNotKnown;  // NaN: no server of the list is large enough, or there is no list
    bool is_spot = false;
  };
  // Of a machine; one that the cloud may take away costs the Spot price where the list has one.
  HourPrice per_hour(double cpus, double memory_gib, double gpus, bool preemptible);
  // Of what was asked for.
  double spent(const CallAttempt& attempt);
  // Between what was asked for and what would do, both by the list.
  double saved(const CallAttempt& attempt, double cpus, double memory_gib);

  bool has_list() const { return !list_.prices.empty(); }
  const std::string& currency() const { return currency_; }  // of the list, else that of Cromwell's costs
  const std::string& note() const { return note_; }          // what was left out of the list
  uint64_t without_spot_price() const { return no_spot_; }   // attempts on preemptible machines

 private:
  PriceList list_;
  std::string currency_ = "USD", note_;
  bool own_costs_ = true;  // vm_cost_per_hour is in the currency that is used
  uint64_t no_spot_ = 0;
  std::map<std::tuple<double, double, double, bool>, HourPrice> known_;
};

double as_gib(double gigabytes);  // to a millionth: 17.179869184 GB are 16 GiB

}  // namespace tacho
