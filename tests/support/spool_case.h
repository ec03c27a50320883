// A spool in a folder of the test's own, and what is in it. Not thread-safe.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "spool/reader.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {

class SpoolCase : public testing::Test {
 protected:
  static constexpr std::string_view kHeader = "timestamp,a,b\n";
  static constexpr const char* kUtc = "20261115T140000Z";

  SpoolWriter create(std::vector<std::string> roots) {
    auto writer = SpoolWriter::create(roots, kUtc);
    EXPECT_TRUE(writer) << (writer ? "" : writer.error().message());
    writer->set_header(kHeader);
    return std::move(*writer);
  }
  SpoolWriter create() { return create({dir_.path() + "/spool"}); }
  static std::string text_of(const SpoolRun& run, const Segment& segment) {
    return run.read(segment).value_or("damaged");
  }
  static void append_to(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::app | std::ios::binary) << text;
  }

  // Of the run in `root`: every row in order, each segment whole.
  static std::string all_rows(const std::string& root) {
    const auto folders = spool_folders(root);
    if (folders.size() != 1) return std::to_string(folders.size()) + " runs";
    const SpoolRun run(folders[0]);
    std::vector<Torn> torn;
    if (!run.recover(kSealedEnding, torn) || !torn.empty()) return "torn";
    std::string rows;
    uint32_t next = 0;
    for (const Segment& segment : run.sealed()) {
      if (segment.seal.number != next++) return "numbers";
      rows += run.read(segment).value_or(std::string(kHeader) + "damaged").substr(kHeader.size());
    }
    return rows;
  }

  TempDir dir_;
};

}  // namespace tacho
