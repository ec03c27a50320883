// <run folder>/devices.csv: a line for every row of metrics.csv, with the same timestamp. Not thread-safe; no
// allocation in a steady row.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/writer.h"
#include "model/device.h"
#include "model/row.h"
#include "os/line_file.h"

namespace tacho {

class DeviceFile {
 public:
  // A new file; a link of that name is not followed.
  static Result<DeviceFile> create(const std::string& folder);

  // The header goes out now, or with the first row where the disk does not take it.
  void begin(std::vector<DeviceColumn> columns);
  bool begun() const { return begun_; }
  Status write(const Row& row, std::span<const double> cells);

 private:
  explicit DeviceFile(LineFile file) : file_(std::move(file)) {}
  Status write_header();

  LineFile file_;
  std::vector<DeviceColumn> columns_;
  bool begun_ = false, has_header_ = false;
  Writer text_;
};

}  // namespace tacho
