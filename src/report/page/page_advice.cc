#include "report/page/page_advice.h"

#include <array>

#include "base/joined.h"
#include "report/advice/advice.h"

namespace tacho {
namespace {

// Its percentile holds every row; of so many the 95th is asked with `tacho advise`.
constexpr int64_t kMostRowsOfAPage = 1'000'000;

struct PasteTarget {
  std::string_view word, title;
};
constexpr std::array kPasteTargets = {PasteTarget{"slurm", "Slurm"},       PasteTarget{"kubernetes", "Kubernetes"},
                                      PasteTarget{"nextflow", "Nextflow"}, PasteTarget{"snakemake", "Snakemake"},
                                      PasteTarget{"wdl", "WDL"},           PasteTarget{"docker", "Docker"}};

}  // namespace

PageAdvice page_advice(const Input& input) {
  PageAdvice page;
  if (input.stored.run.mode == kModeWatch) {
    page.refused = "The machine was watched, no job.";
    return page;
  }
  if (input.stored.rows > kMostRowsOfAPage) {
    page.refused = "Of so many rows advice is made by: tacho advise " + input.stored.shown_id();
    return page;
  }
  const Advice advice = advise({&input, 1});
  if (!advice.refused.empty()) {
    page.refused = advice.refused + (advice.hint.empty() ? "" : "; " + advice.hint);
    return page;
  }
  for (const AdviceLine& line : advice_lines(advice)) {
    std::string why = line.why;
    if (!line.state.empty()) why += (why.empty() ? "" : "; ") + line.state;
    if (!line.judgement.empty()) why += (why.empty() ? "" : ": ") + line.judgement;
    page.lines.push_back({line.what, line.advised, why});
  }
  for (const PasteTarget& target : kPasteTargets)
    if (const auto lines = paste_lines(advice, target.word); !lines.empty())
      page.ready.emplace_back(target.title, joined(lines, "\n"));
  if (page.lines.empty()) page.refused = "Its rows tell nothing of a job.";
  return page;
}

}  // namespace tacho
