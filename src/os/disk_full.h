// Whether a failure is a full disk or a used-up quota: both may pass, so they never stop a job. Thread-safe.
#pragma once
#include "base/result.h"

namespace tacho {

// Of an Error that system_error() made: its hint begins with the system's own words.
bool is_disk_full(const Error& error);

}  // namespace tacho
