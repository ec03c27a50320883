// The readers, one for each kind of source. A filter that is wrong is an Error of code invalid, which names its number,
// its text and the position of the fault. None is thread-safe; none opens anything before its first read.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "katib/read/reader.h"
#include "katib/read/reader_options.h"

namespace tacho {

// Kinds StdOut and File: a log that grows, is truncated, rotated, deleted.
Result<std::unique_ptr<Reader>> make_text_reader(std::string path, ReaderOptions options);
std::unique_ptr<Reader> make_json_reader(std::string path, ReaderOptions options);
// Kind TensorFlowEvent: all event files in a folder and below it. With options.report_at_end there are no rows before
// `at_end`; stop rules then need a second reader without it.
std::unique_ptr<Reader> make_tfevent_reader(std::string folder, ReaderOptions options);

}  // namespace tacho
