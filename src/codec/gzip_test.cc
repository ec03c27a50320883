#include "codec/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

namespace tacho {
namespace {

// As zcat: all that can be read; `whole` tells whether the trailer was there.
std::string inflate_all(std::string_view bytes, bool* whole = nullptr) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  std::string text(8 << 20, '\0');
  std::string input(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_SYNC_FLUSH);
  if (whole != nullptr) *whole = result == Z_STREAM_END;
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

void drain(GzipEncoder& gzip, std::string& file) {
  file += gzip.pending();
  gzip.sent(gzip.pending().size());
}

TEST(Gzip, RoundTrip) {
  GzipEncoder gzip;
  ASSERT_TRUE(gzip.open());
  std::string text, file;
  for (int i = 0; i < 5000; ++i) {
    const std::string line = "179473500" + std::to_string(i) + ".250,321,2.2500,1000,1.5000,128.000\n";
    ASSERT_TRUE(gzip.put(line));
    text += line;
    if (gzip.unflushed_bytes() > GzipEncoder::kFlushBytes) { ASSERT_TRUE(gzip.flush()); }
    drain(gzip, file);
  }
  ASSERT_TRUE(gzip.finish());
  drain(gzip, file);
  bool whole = false;
  EXPECT_EQ(inflate_all(file, &whole), text);
  EXPECT_TRUE(whole);
  EXPECT_LT(file.size() * 3, text.size());
  // mtime 0, no name: the ten bytes of the header are always the same but for the operating system.
  EXPECT_EQ(file.substr(0, 9), std::string("\x1f\x8b\x08\0\0\0\0\0\0", 9));
}

TEST(Gzip, WhatWasFlushedCanBeReadWithoutAnEnd) {
  GzipEncoder gzip;
  ASSERT_TRUE(gzip.open());
  std::string file;
  ASSERT_TRUE(gzip.put("header\nrow 1\n"));
  ASSERT_TRUE(gzip.flush());
  drain(gzip, file);
  ASSERT_TRUE(gzip.put("row 2 is lost\n"));
  drain(gzip, file);
  bool whole = true;
  EXPECT_EQ(inflate_all(file, &whole), "header\nrow 1\n");
  EXPECT_FALSE(whole);
}

TEST(Gzip, APlaceThatTakesNothingNeverBreaksTheStream) {
  GzipEncoder gzip;
  ASSERT_TRUE(gzip.open());
  std::minstd_rand random(7);
  std::string taken, file;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string line;  // hardly compressible
    for (int j = 0; j < 100; ++j) line += static_cast<char>('!' + random() % 90);
    line += '\n';
    if (gzip.put(line)) taken += line;
    else ++refused;
    if (gzip.unflushed_bytes() > GzipEncoder::kFlushBytes) gzip.flush();
    if (i == 2500) drain(gzip, file);  // there is room again
  }
  EXPECT_GT(refused, 500);
  drain(gzip, file);
  ASSERT_TRUE(gzip.finish());
  drain(gzip, file);
  bool whole = false;
  EXPECT_EQ(inflate_all(file, &whole), taken);
  EXPECT_TRUE(whole);
}

TEST(Gzip, NothingWorksBeforeOpenOrAfterTheEnd) {
  GzipEncoder gzip;
  EXPECT_FALSE(gzip.put("x"));
  EXPECT_TRUE(gzip.pending().empty());
  ASSERT_TRUE(gzip.open());
  ASSERT_TRUE(gzip.finish());
  EXPECT_FALSE(gzip.put("x"));
}

}  // namespace
}  // namespace tacho
