#include "report/page_advice.h"

#include <array>

#include "report/advice.h"

namespace tacho {
namespace {

// The percentile holds every row; of more of them it is made by a command of its own, not beside a page.
constexpr int64_t kMostRowsOfAPage = 1'000'000;

constexpr std::array<std::pair<const char*, const char*>, 6> kPasteTargets{{{"slurm", "Slurm"},
                                                                            {"kubernetes", "Kubernetes"},
                                                                            {"nextflow", "Nextflow"},
                                                                            {"snakemake", "Snakemake"},
                                                                            {"wdl", "WDL"},
                                                                            {"docker", "Docker"}}};

}  // namespace

PageAdvice page_advice(const Input& input) {
  PageAdvice page;
  if (input.stored.rows > kMostRowsOfAPage) {
    page.refused = "Of so many rows advice is made by: tacho advise " + input.stored.shown_id();
    return page;
  }
  const Advice advice = advise({&input, 1});
  page.refused = advice.refused + (advice.hint.empty() ? "" : " (" + advice.hint + ")");
  if (!advice.refused.empty()) return page;
  for (const std::string& warning : advice.warnings) page.lines.push_back({"Note", "", warning});
  for (const AdviceLine& line : advice_lines(advice)) {
    std::string why = line.why;
    for (const std::string* part : {&line.state, &line.judgement})
      if (!part->empty()) why += (why.empty() ? "" : "; ") + *part;
    page.lines.push_back({line.what, line.advised, why});
  }
  for (const auto& [target, name] : kPasteTargets) {
    std::string text;
    for (const std::string& line : paste_lines(advice, target)) text += (text.empty() ? "" : "\n") + line;
    if (!text.empty()) page.ready.emplace_back(name, text);
  }
  return page;
}

}  // namespace tacho
