// One self-contained HTML page about runs or files of samples. Thread-safe (no state).
#pragma once
#include <span>
#include <string>

#include "base/result.h"

namespace tacho {

// inputs: run ids (as find_run takes them) or paths of run folders, .csv and .jsonl files; output: a file, "-" is stdout.
Status write_html_report(std::span<const std::string> inputs, const std::string& store_dir, const std::string& output);

}  // namespace tacho
