// Text of somebody else's making on its way into the page: never markup, never too long, nothing that turns the
// reading direction. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// For HTML, between tags and inside of quoted attributes.
std::string escaped(std::string_view raw);
// At most `most` bytes, cut with "…"; control characters and changes of direction become blanks.
std::string page_text(std::string_view raw, size_t most);
// JSON that can stand inside of <script>: no character of it begins a tag, an entity or a comment.
std::string script_safe(std::string_view json);
// A page up to its <body>. Its policy allows this style and this script (empty: none) and nothing else: whatever a name
// or a note might smuggle in, the browser runs nothing else, and the page can ask for nothing from anywhere.
std::string page_start(std::string_view title, std::string_view style, std::string_view script);

}  // namespace tacho
