// What every machine-wide probe needs to be listed: a maker and a check that its file is there. Thread-safe.
#pragma once
#include <memory>
#include <string>

#include "probe/kit/probe.h"

namespace tacho {

template <class T>
Result<std::unique_ptr<Probe>> make_probe(ProbeContext& context) {
  return std::unique_ptr<Probe>(std::make_unique<T>(context));
}

// Ok when the file is there; otherwise the reason, with what a person can do.
inline Status need_file(const std::string& path, const char* hint) {
  if (file_exists(path)) return ok();
  return Error{Code::not_available, "this kernel file is missing", path, hint};
}

inline constexpr const char* kMountProcHint = "mount proc there, or run outside of the sandbox that hides it";

// The parsers say −1 for what is not in a file: that field stays absent.
inline void set_known(Reading& out, size_t field, int64_t value) {
  if (value >= 0) out.set(field, value);
}

}  // namespace tacho
