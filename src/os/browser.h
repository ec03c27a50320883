// Shows a file in the person's browser: $BROWSER, else xdg-open, looked up as a shell does. It is started in a session
// of its own and not waited for. Thread-safe.
#pragma once
#include <string>

#include "base/result.h"

namespace tacho {

// An error names what to do instead.
Status open_in_browser(const std::string& path);

}  // namespace tacho
