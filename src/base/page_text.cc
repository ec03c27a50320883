#include "base/page_text.h"

#include "base/base64.h"
#include "base/hmac.h"
#include "base/text.h"

namespace tacho {

std::string escaped(std::string_view raw) {
  std::string text;
  for (const char c : valid_utf8(raw)) {
    switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '"': text += "&quot;"; break;
      case '\'': text += "&#39;"; break;
      default: text += c;
    }
  }
  return text;
}

std::string page_text(std::string_view raw, size_t most) {
  std::string text = harmless_text(valid_utf8(raw.substr(0, 4 * most)));
  if (text.size() <= most) return text;
  return std::string(start_of(text, most)) + "…";
}

std::string script_safe(std::string_view json) {
  std::string text;
  text.reserve(json.size() + 64);
  for (const char c : json) {
    if (c == '<') text += "\\u003c";
    else if (c == '>') text += "\\u003e";
    else if (c == '&') text += "\\u0026";
    else text += c;
  }
  return text;
}

std::string page_start(std::string_view title, std::string_view style, std::string_view script) {
  const auto hash = [](std::string_view text) { return "'sha256-" + base64(sha256_bytes(text)) + "'"; };
  std::string page =
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n<meta http-equiv=Content-Security-Policy content=\"";
  page += "default-src 'none'; script-src " + (script.empty() ? "'none'" : hash(script)) + "; style-src " + hash(style);
  page +=
      "; base-uri 'none'; form-action 'none'\">\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=color-scheme content=\"light dark\">\n<title>";
  page += escaped(page_text(title, 200)) + "</title>\n<style>";
  return page.append(style).append("</style></head>\n<body>\n");
}

}  // namespace tacho
