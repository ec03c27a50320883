// One line of a chart as the page holds it: 16 bits a value, which tell it to 0.05 %, the highest exactly. Pure.
#pragma once
#include <string>
#include <string_view>

#include "base/writer.h"
#include "report/series.h"

namespace tacho {

struct PageLine {
  std::string name;
  std::string_view role;  // colour and style
  size_t column = SeriesFold::kMissing;
  double scale = 1;
};

// The shortest text that reads as this number again, to the seven digits that a series keeps; null for none.
void write_number(JsonWriter& json, double value);

// {"name","role","low","top","scale","mean"[,"min","max"]}: each of the last is base64 of 16-bit codes, little-endian.
// A value is scale · (low + (top − low) · f(code)): 65535 none, 65534 1, 0 0, else (1 + (code mod 2048)/2048) ·
// 2^−(code/2048 + 1).
void write_page_line(JsonWriter& json, const SeriesFold& series, const PageLine& line);

// Base64 of a byte a point, mean · 200 rounded; 255 none. For shares of 1.
void write_share_bytes(JsonWriter& json, const SeriesFold& series, size_t column);

// How long each point lasted, in milliseconds.
void write_durations(JsonWriter& json, const SeriesFold& series);

}  // namespace tacho
