// Reads a page of the HTML report again, for tests: its data, and the rows that it gives back.
#pragma once
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/base64.h"
#include "codec/gunzip.h"

namespace tacho {

inline std::string decode_base64(const std::string& text) { return base64_decode(text).value_or("not base64"); }

inline std::string between(const std::string& page, const std::string& from, const std::string& to) {
  const size_t at = page.find(from);
  if (at == std::string::npos) return "";
  return page.substr(at + from.size(), page.find(to, at) - at - from.size());
}

inline nlohmann::json data_of(const std::string& page, size_t run = 0) {
  return nlohmann::json::parse(between(page, "id=data>", "</script>"))["runs"][run];
}

// The values of a line, as the script reads them (web/values.js).
inline std::vector<double> values_of(const nlohmann::json& line, const char* part) {
  const std::string bytes = decode_base64(line[part].get<std::string>());
  const double low = line["low"], top = line["top"], scale = line["scale"];
  std::vector<double> values;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const int code = static_cast<uint8_t>(bytes[i]) | static_cast<uint8_t>(bytes[i + 1]) << 8;
    const double share = code == 65535   ? std::nan("")
                         : code == 65534 ? 1
                         : code == 0     ? 0
                                         : (1 + (code & 2047) / 2048.0) * std::pow(2, -(code >> 11) - 1);
    values.push_back(scale * (low + (top - low) * share));
  }
  return values;
}

inline const nlohmann::json& chart_of(const nlohmann::json& run, const std::string& id) {
  static const nlohmann::json kNothing;
  for (const auto& chart : run["charts"])
    if (chart["id"] == id) return chart;
  return kNothing;
}

inline const nlohmann::json& line_named(const nlohmann::json& chart, const std::string& name) {
  static const nlohmann::json kNothing;
  for (const auto& line : chart["lines"])
    if (line["name"] == name) return line;
  return kNothing;
}

inline std::string rows_in(const std::string& page, int run = 0) {
  GzipDecoder gunzip;
  std::string text;
  gunzip.decode(decode_base64(between(page, "id=rows" + std::to_string(run) + ">", "</script>")), text);
  return text;
}

}  // namespace tacho
