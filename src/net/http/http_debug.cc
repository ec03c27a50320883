#include "net/http/http_debug.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

// A part of a name that tells that the value is not for anyone's eyes. Better one header too many than one too few.
constexpr std::array<std::string_view, 9> kSecretWords = {
    "authorization", "token", "cookie", "secret", "credential", "api-key", "apikey", "signature", "password"};

std::string without_query(std::string_view text) {
  const size_t mark = text.find('?');
  if (mark == std::string_view::npos) return std::string(text);
  const size_t blank = text.find(' ', mark);
  return std::string(text.substr(0, mark)) + "?***" +
         std::string(blank == std::string_view::npos ? "" : text.substr(blank));
}

std::string masked(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.substr(0, colon).find(' ') != std::string_view::npos)
    return without_query(line);
  const std::string name = lower(line.substr(0, colon));
  for (const std::string_view word : kSecretWords) {
    if (name.find(word) == std::string::npos) continue;
    const std::string_view value = trim(line.substr(colon + 1));
    // "Bearer", "AWS4-HMAC-SHA256": the scheme helps, and is no secret; a value of one word is one.
    const size_t blank = name.ends_with("authorization") ? value.find(' ') : std::string_view::npos;
    const std::string scheme = blank == std::string_view::npos ? "" : std::string(value.substr(0, blank)) + " ";
    return std::string(line.substr(0, colon)) + ": " + scheme + "***";
  }
  return name == "location" ? without_query(line) : std::string(line);
}

}  // namespace

bool debug_http() {
  static const bool on = environment_on("TACHO_DEBUG_HTTP");
  return on;
}

// A server's header may hold what a terminal acts on.
std::string masked_header(std::string_view line) { return harmless_text(masked(line)); }

void print_headers(char direction, std::string_view lines,
                   std::span<const std::pair<std::string, std::string>> secret) {
  const auto is_secret = [&](std::string_view name) {
    return std::any_of(secret.begin(), secret.end(),
                       [&](const auto& header) { return lower(header.first) == lower(name); });
  };
  std::string text;
  for (std::string_view line : split(lines, '\n')) {
    line = trim(line);
    if (const std::string_view name = line.substr(0, line.find(':')); name.size() < line.size() && is_secret(name))
      text += std::string("tacho: http ") + direction + " " + harmless_text(std::string(name)) + ": ***\n";
    else if (!line.empty()) text += std::string("tacho: http ") + direction + " " + masked_header(line) + "\n";
  }
  (void)write_all(STDERR_FILENO, text);
}

}  // namespace tacho
