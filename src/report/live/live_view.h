// The figures of a live view: the newest row of a run or of the machine, in words and with the last minute as bars.
// Pure: rows go in, text comes out. Not thread-safe.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/row.h"
#include "model/run.h"

namespace tacho {

// "▁▂▃": one character a value, blank where it is not known. whole: what a full bar stands for; kAbsent: the highest.
std::string bars_text(std::span<const double> values, double whole);

class LiveView {
 public:
  void begin(const Run& run, const Schema& schema);
  void add(const Row& row);
  bool empty() const { return rows_ == 0; }

  // Of whom, and for how long.
  std::string head() const;
  // A line for each thing that is measured: its name, the figure, and bars as far as `width` columns allow.
  struct Figure {
    std::string name, text, bars;
  };
  std::vector<Figure> figures(size_t width) const;
  // The same in one line, for a pipe.
  std::string line() const;

 private:
  static constexpr size_t kHistory = 60;
  struct History {
    std::vector<double> values;  // the newest last
    void add(double value);
  };
  struct Part {
    std::string name, text;
    const History* history;
    double whole;  // what a full bar stands for; kAbsent: the highest value
  };
  double cell(std::string_view column) const;
  double rate(std::string_view column) const;  // a second; of what an interval added
  std::vector<Part> parts() const;

  Run run_;
  std::vector<std::string> columns_;
  Row row_;
  int64_t rows_ = 0;
  double elapsed_s_ = 0;
  bool machine_ = false;
  double cores_ = kAbsent, memory_bytes_ = kAbsent;  // that may be used
  History cpu_, memory_, gpu_;
};

}  // namespace tacho
