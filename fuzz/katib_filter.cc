// What a person may pass as a filter, a stop rule or a scraped metric's name.
#include <string>

#include "katib/collect/stop_rules.h"
#include "katib/read/filter.h"
#include "katib/read/reader_options.h"
#include "katib/read/series_selector.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  const std::string whole(text);
  // Whatever the expression is, both ways find the same.
  if (auto filter = tacho::Filter::compile(whole, 1)) {
    auto slow = tacho::Filter::compile(whole, 1);
    slow->use_re2();
    std::string one, two;
    filter->find_all("loss=0.5 accuracy = 1", [&](const tacho::FilterMatch& match) {
      return one.append(match.name).append("\n").append(match.value), true;
    });
    slow->find_all("loss=0.5 accuracy = 1", [&](const tacho::FilterMatch& match) {
      return two.append(match.name).append("\n").append(match.value), true;
    });
    require(one == two);
  }
  if (const auto selector = tacho::SeriesSelector::parse(whole)) selector->matches("a=\"1\",le=\"0.5\"");
  for (const std::string& item : tacho::split_items(text, true)) require(!item.empty());
  if (auto rules = tacho::StopRules::parse({whole}, {"loss"}, tacho::ObjectiveType::minimize)) {
    rules->observe({"", "loss", "0.5", {}, {}});
    const std::string state = rules->state();
    require(static_cast<bool>(rules->restore(state)) && rules->state() == state);
  }
}
