#include "spool/layout.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace tacho {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::vector<std::string> spool_roots() {
  std::vector<std::string> roots;
  const auto add = [&](std::string root) {
    while (root.size() > 1 && root.back() == '/') root.pop_back();
    if (!root.empty() && std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(std::move(root));
  };
  const std::string user = std::to_string(::getuid());
  add(variable("TACHO_SPOOL_DIR"));
  if (const std::string state = variable("XDG_STATE_HOME"); state.starts_with('/')) add(state + "/tacho/spool");
  if (const std::string home = variable("HOME"); home.starts_with('/') && home != "/nonexistent") add(home + "/.local/state/tacho/spool");
  add("/var/tmp/tacho-" + user);
  add("/tmp/tacho-" + user);  // often the one place that a read-only container may write to
  add("/dev/shm/tacho-" + user);
  return roots;
}

std::string segment_name(uint32_t number, std::string_view ending) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%06u", number);
  return digits + std::string(ending);
}

std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending) || name.size() < 6 + ending.size()) return std::nullopt;
  return parse_int<uint32_t>(name.substr(0, name.size() - ending.size()));
}

std::string seal_line(const Seal& seal) {
  char text[96];
  std::snprintf(text, sizeof text, "%06u %lld %lld %08x\n", seal.number, static_cast<long long>(seal.bytes),
                static_cast<long long>(seal.rows), seal.crc);
  return text;
}

std::optional<Seal> parse_seal(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() != 4 || words[3].size() != 8) return std::nullopt;
  const auto number = parse_int<uint32_t>(words[0]);
  const auto bytes = parse_int<int64_t>(words[1]), rows = parse_int<int64_t>(words[2]);
  uint32_t crc = 0;
  const auto [end, error] = std::from_chars(words[3].data(), words[3].data() + 8, crc, 16);
  if (!number || !bytes || !rows || error != std::errc{} || end != words[3].data() + 8) return std::nullopt;
  return Seal{*number, *bytes, *rows, crc};
}

}  // namespace tacho
