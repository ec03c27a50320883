#include "sink/device_file.h"

#include "codec/csv.h"
#include "codec/csv_text.h"
#include "sink/sink.h"

namespace tacho {

Result<DeviceFile> DeviceFile::create(const std::string& folder) {
  auto file = LineFile::create(folder + "/devices.csv", kRunFileMode);
  if (!file) return file.error();
  return DeviceFile(std::move(*file));
}

void DeviceFile::begin(std::vector<DeviceColumn> columns) {
  columns_ = std::move(columns);
  begun_ = true;
  static_cast<void>(write_header());
}

Status DeviceFile::write_header() {
  if (has_header_) return ok();
  text_.clear();
  text_.put("timestamp");
  for (const DeviceColumn& column : columns_) {
    text_.put(',');
    put_csv_text(text_, column.name);
  }
  text_.put('\n');
  const Status status = file_.write(text_.view());
  has_header_ = static_cast<bool>(status);
  return status;
}

Status DeviceFile::write(const Row& row, std::span<const double> cells) {
  if (const Status status = write_header(); !status) return status;
  text_.clear();
  put_unix_seconds(text_, row.realtime_ns);
  for (size_t i = 0; i < columns_.size(); ++i) {
    text_.put(',');
    if (i < cells.size()) text_.put_fixed(cells[i], columns_[i].decimals);
  }
  text_.put('\n');
  return file_.write(text_.view());
}

}  // namespace tacho
