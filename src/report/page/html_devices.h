// devices.csv on the page: a heat map of the cores (or NUMA nodes), and a chart for each GPU, disk and interface, the
// busiest first. Pure but for reading the file.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/writer.h"
#include "model/summary.h"
#include "report/series.h"
#include "report/store/facts.h"

namespace tacho {

struct PageDevices {
  SeriesFold series;
  std::vector<std::pair<std::string, Statistics>> statistics;

  bool is_empty() const { return series.points() == 0; }
};

// Nothing where there is no such file, or none of its kind.
PageDevices read_page_devices(const std::string& path, const Run& run, size_t points);

// "heat":{"kind":"core","names":[…],"rows":[base64,…]} and "devices":[chart,…], "devices_left_out":N.
void write_page_devices(JsonWriter& json, const PageDevices& devices, const RunFacts& facts);

}  // namespace tacho
