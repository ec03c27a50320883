#include "cromwell/analyze_money.h"

#include <algorithm>
#include <cmath>

namespace tacho {

void Money::add(double cost, double saving) {
  if (is_known(cost)) spent += cost, ++spent_of;
  if (is_known(saving)) saved += saving, ++saved_of;
}

void Money::add(const Money& other) {
  spent += other.spent;
  saved += other.saved;
  spent_of += other.spent_of;
  saved_of += other.saved_of;
}

double as_gib(double gigabytes) { return std::round(gigabytes * 1e9 / 1073741824.0 * 1e6) / 1e6; }

CostTable::CostTable(PriceList list) : list_(std::move(list)) {
  if (list_.prices.empty()) return;
  currency_ = list_.prices.front().currency;
  const size_t all = list_.prices.size();
  std::erase_if(list_.prices, [&](const Price& price) { return price.currency != currency_; });
  if (list_.prices.size() < all)
    note_ = std::to_string(all - list_.prices.size()) + " prices in other currencies than " + currency_ +
            " are left out of the list";
  own_costs_ = currency_ == "USD";
}

double CostTable::per_hour(double cpus, double memory_gib, double gpus) {
  if (!has_list() || !is_known(cpus) || !is_known(memory_gib)) return kNotKnown;
  const std::tuple size(cpus, memory_gib, is_known(gpus) ? gpus : 0);
  if (const auto found = known_.find(size); found != known_.end()) return found->second;
  const auto best = cheapest(list_, {cpus, memory_gib, std::get<2>(size), 0}, 1);
  return known_[size] = best.empty() ? kNotKnown : best.front().per_hour;
}

double CostTable::spent(const CallAttempt& attempt) {
  if (own_costs_ && is_known(attempt.cost_per_hour)) return attempt.hours() * attempt.cost_per_hour;
  const double price = per_hour(attempt.cpus, as_gib(attempt.memory_gb), attempt.gpus);
  if (is_known(price) && attempt.preemptible) ++spot_;
  return attempt.hours() * price;
}

double CostTable::saved(const CallAttempt& attempt, double cpus, double memory_gib) {
  return attempt.hours() *
         (per_hour(attempt.cpus, as_gib(attempt.memory_gb), attempt.gpus) - per_hour(cpus, memory_gib, attempt.gpus));
}

}  // namespace tacho
