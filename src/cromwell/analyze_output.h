// The report as a person, a program or a browser reads it. Pure, thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "cromwell/analyze_report.h"

namespace tacho {

// What became of the three tables' rows.
struct AnalyzeInputs {
  TableCount runtime, metrics, metadata;
  uint64_t repeated = 0, unmatched = 0;  // of metrics
};

// Lines of at most `width` columns (0: as wide as it takes).
std::string analyze_text(const AnalyzeReport& report, const AttemptTable& table, size_t width, bool color);
// In pieces, since each attempt is in it.
void write_analyze_json(const AnalyzeReport& report, const AttemptTable& table, const AnalyzeInputs& inputs,
                        const std::function<void(std::string_view)>& put);
// One file of at most 600 KB that loads nothing.
std::string analyze_page(const AnalyzeReport& report, const AttemptTable& table);

// Short figures: "1.5", "12 GB", "-" for what is not known.
std::string amount_text(double value, std::string_view unit = "");
std::string money_text(double amount, std::string_view currency);

}  // namespace tacho
