// What the tests of growing logs share: a folder of their own, and what can be read now as one text.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "katib/read/readers.h"

namespace tacho {

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tacho-log-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/metrics.log";
    options_.metrics = {"loss", "acc"};
  }
  void TearDown() override { [[maybe_unused]] const int done = std::system(("rm -rf " + folder_).c_str()); }

  static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  void append(const std::string& text) { std::ofstream(path_, std::ios::binary | std::ios::app) << text; }
  std::unique_ptr<Reader> open() { return std::move(*make_text_reader(path_, options_)); }

  // All that can be read now, as "name=value name=value".
  static std::string rows(Reader& reader, bool at_end = false, size_t limit = 100) {
    std::string text;
    for (;;) {
      const auto more = reader.read(
          at_end, limit, [&](MetricRow&& row) { text += (text.empty() ? "" : " ") + row.name + "=" + row.value; });
      if (!more) return "error: " + more.error().message();
      if (!*more) return text;
    }
  }

  std::string folder_, path_;
  ReaderOptions options_;
};

}  // namespace tacho
