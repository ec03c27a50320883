#include "katib/read/readers.h"

namespace tacho {
namespace {

using Source = CollectorKind::Source;

struct ReaderLine {
  Source source;
  std::string_view format;  // empty: the source has none
  Result<std::unique_ptr<Reader>> (*make)(std::string path, ReaderOptions options);
};

constexpr ReaderLine kReaders[] = {
    {Source::log, "TEXT", make_text_reader},
    {Source::log, "JSON",
     [](std::string path, ReaderOptions options) -> Result<std::unique_ptr<Reader>> {
       return make_json_reader(std::move(path), std::move(options));
     }},
    {Source::event_files, "",
     [](std::string path, ReaderOptions options) -> Result<std::unique_ptr<Reader>> {
       return make_tfevent_reader(std::move(path), std::move(options));
     }},
};

}  // namespace

Result<std::unique_ptr<Reader>> make_reader(Source source, std::string_view format, std::string path,
                                            ReaderOptions options) {
  for (const ReaderLine& line : kReaders) {
    if (line.source == source && (line.format.empty() || line.format == format))
      return line.make(std::move(path), std::move(options));
  }
  return Error{Code::invalid, "no file of this kind or format is read: " + std::string(format), path,
               "the formats are " + log_format_names()};
}

bool is_log_format(std::string_view word) {
  for (const ReaderLine& line : kReaders)
    if (!line.format.empty() && line.format == word) return true;
  return false;
}

std::string log_format_names() {
  std::string out;
  for (const ReaderLine& line : kReaders)
    if (!line.format.empty()) out.append(out.empty() ? "" : " or ").append(line.format);
  return out;
}

}  // namespace tacho
