// One piece of text as a gzip file: mtime 0 and no name, so that equal text gives equal bytes. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

std::string gzip(std::string_view text);

}  // namespace tacho
