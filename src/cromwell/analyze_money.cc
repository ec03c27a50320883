#include "cromwell/analyze_money.h"

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

CostTable::HourPrice CostTable::per_hour(double cpus, double memory_gib, double gpus, bool preemptible) {
  if (!has_list() || !is_known(cpus) || !is_known(memory_gib)) return {};
  const std::tuple machine(cpus, memory_gib, is_known(gpus) ? gpus : 0, preemptible);
  if (const auto found = known_.find(machine); found != known_.end()) return found->second;
  const auto best = cheapest(list_, {cpus, memory_gib, std::get<2>(machine), 0}, 1, preemptible);
  if (best.empty()) return known_[machine] = {};
  return known_[machine] = {best.front().of(preemptible), preemptible && !is_absent(best.front().spot_per_hour)};
}

double CostTable::spent(const CallAttempt& attempt) {
  if (own_costs_ && is_known(attempt.cost_per_hour)) return attempt.hours() * attempt.cost_per_hour;
  const HourPrice price = per_hour(attempt.cpus, as_gib(attempt.memory_gb), attempt.gpus, attempt.preemptible);
  if (is_known(price.amount) && attempt.preemptible && !price.is_spot) ++no_spot_;
  return attempt.hours() * price.amount;
}

double CostTable::saved(const CallAttempt& attempt, double cpus, double memory_gib) {
  const auto price = [&](double of_cpus, double of_memory_gib) {
    return per_hour(of_cpus, of_memory_gib, attempt.gpus, attempt.preemptible).amount;
  };
  return attempt.hours() * (price(attempt.cpus, as_gib(attempt.memory_gb)) - price(cpus, memory_gib));
}

}  // namespace tacho
