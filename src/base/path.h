// The parts of a path, as dirname(1) and basename(1) name them but for slashes at the end, which nobody here has.
#pragma once

#include <string>
#include <string_view>

namespace tacho {

// After the last slash: all of a path that has none.
inline std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The folder that holds it: "." for a bare name, "/" for what stands in the root.
inline std::string parent_folder(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace tacho
