// A metadata document on disk, plain or gzip, that can be read from its start as often as needed. Thread-safe if each
// thread has its own reader.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "cromwell/json_reader.h"
#include "os/fd.h"

namespace tacho {

class MetadataFile {
 public:
  // A path, or "-" for stdin. A pipe, which cannot be read twice, is copied to a temporary file first. `what` is what
  // errors call it.
  static Result<MetadataFile> open(const std::string& path, const std::string& what = "metadata");
  explicit MetadataFile(Fd fd) : fd_(std::move(fd)) {}

  // From the start; the file must outlive it. Errors and broken gzip come out of the function. `told` hears how many
  // percent of the file were read; it may be empty.
  JsonReader::Fill reader(std::function<void(int percent)> told = {}) const;

 private:
  Fd fd_;
};

}  // namespace tacho
