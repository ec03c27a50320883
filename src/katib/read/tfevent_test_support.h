// What the tests of event files share: a folder of their own, the files of tests/fixtures/tfevents (made by
// make_tfevents.py), and records made by hand.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "katib/read/event.h"
#include "katib/read/readers.h"

namespace tacho {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;

class TfeventTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tacho-tfevent-XXXXXX";
    folder_ = ::mkdtemp(name);
    options_.metrics = {"loss"};
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string fixture(const std::string& name) { return std::string(TACHO_FIXTURES) + "/tfevents/" + name; }
  static std::string bytes_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static std::string one_file(const std::string& name) {
    return bytes_of(fixture(name) + "/events.out.tfevents.1700000000.host");
  }
  void put(const std::string& name, const std::string& bytes, bool append = false) const {
    const fs::path path = fs::path(folder_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | (append ? std::ios::app : std::ios::trunc)) << bytes;
  }

  Rows rows(Reader& reader, bool at_end = true, size_t limit = 1000) const {
    Rows found;
    for (bool more = true; more;)
      more = *reader.read(at_end, limit, [&](MetricRow&& row) { found.push_back(row.name + "=" + row.value); });
    return found;
  }
  Rows rows(const std::string& name) {
    const auto reader = make_tfevent_reader(fixture(name), options_);
    Rows found = rows(*reader);
    counts_ = reader->counts();
    return found;
  }
  Rows ordered(const std::string& name) {
    options_.report_at_end = true;
    return rows(name);
  }

  std::string folder_;
  ReaderOptions options_;
  ReaderCounts counts_;
};

inline std::string record_of(const std::string& payload) {
  std::string record(8, '\0');
  const uint64_t size = payload.size();
  std::memcpy(record.data(), &size, 8);
  const uint32_t crc = masked_crc(record), payload_crc = masked_crc(payload);
  return record.append(reinterpret_cast<const char*>(&crc), 4)
      .append(payload)
      .append(reinterpret_cast<const char*>(&payload_crc), 4);
}

// A field of bytes.
inline std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  return out + static_cast<char>(size) + bytes;
}

inline std::string scalar(const std::string& tag, float value) {
  std::string out = field(1, tag) + "\x15";
  return field(1, out.append(reinterpret_cast<const char*>(&value), 4));
}

}  // namespace tacho
