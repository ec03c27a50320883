// The readers, one for each sort of file; readers.cc lists them. A filter that is wrong is an Error of code invalid,
// which names its number, its text and the position of the fault. None is thread-safe; none opens anything before its
// first read.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "katib/model/collector_kinds.h"
#include "katib/read/reader.h"
#include "katib/read/reader_options.h"

namespace tacho {

// By the source of a kind and, where it has one, the format of its lines. There is none for a source that is not a
// file.
Result<std::unique_ptr<Reader>> make_reader(CollectorKind::Source source, std::string_view format, std::string path,
                                            ReaderOptions options);
bool is_log_format(std::string_view word);  // to the letter, as the older collector compares
std::string log_format_names();             // "TEXT or JSON"

// A log that grows, is truncated, rotated, deleted.
Result<std::unique_ptr<Reader>> make_text_reader(std::string path, ReaderOptions options);
std::unique_ptr<Reader> make_json_reader(std::string path, ReaderOptions options);
// All event files in a folder and below it. With options.report_at_end there are no rows before
// `at_end`; stop rules then need a second reader without it.
std::unique_ptr<Reader> make_tfevent_reader(std::string folder, ReaderOptions options);

}  // namespace tacho
