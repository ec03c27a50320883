// Lines of a log, from a file (plain or gzip) or from Cloud Storage (gs://bucket/name), in constant memory. Not
// thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cromwell/sizes.h"

namespace tacho {

using LogSource =
    std::function<Status(const std::string& path, const std::function<void(std::string_view line)>& line)>;
// Of the settings, only the address, the credentials and the user project count.
LogSource make_log_source(const SizeSettings& storage);

}  // namespace tacho
