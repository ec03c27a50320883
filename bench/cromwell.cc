// bench_cromwell FILE: both passes over a metadata document as the uploader makes them, and a plain read of the same
// file for comparison; with RapidJSON installed, its SAX reader (iterative, as a deep document demands, with a handler
// that does nothing) too. Prints one JSON object: bytes, calls, CPU seconds of each, peak memory.
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <vector>
#if __has_include(<rapidjson/reader.h>)
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>
#define HAS_PEER 1
#endif

#include "cromwell/row_json.h"
#include "cromwell/rows_pass.h"
#include "os/file.h"
#include "os/temporary_file.h"

namespace {

using namespace tacho;

double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// A plain SAX pass of RapidJSON over the file; 0 without it.
double peer_s(const char* path) {
#ifdef HAS_PEER
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return 0;
  std::vector<char> buffer(256 * 1024);
  const double start = cpu_s();
  rapidjson::FileReadStream stream(file, buffer.data(), buffer.size());
  rapidjson::BaseReaderHandler<> nothing;
  rapidjson::Reader reader;
  const bool good = !reader.Parse<rapidjson::kParseIterativeFlag>(stream, nothing).IsError();
  std::fclose(file);
  return good ? cpu_s() - start : 0;
#else
  return path == nullptr ? -1 : 0;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("bench_cromwell FILE\n", stderr), 2;
  const double start = cpu_s();
  const Fd fd{::open(argv[1], O_RDONLY | O_CLOEXEC)};
  std::vector<char> buffer(256 * 1024);
  int64_t bytes = 0;
  for (;;) {
    const auto got = read_at(fd.get(), buffer.data(), buffer.size(), bytes);
    if (!got || *got == 0) break;
    bytes += static_cast<int64_t>(*got);
  }
  const double read_s = cpu_s();
  auto file = MetadataFile::open(argv[1]);
  if (!file) return std::fputs(file.error().message().c_str(), stderr), 1;
  auto known = survey(*file);
  if (!known || known->broken) return std::fputs("the document is broken\n", stderr), 1;
  const double survey_s = cpu_s();
  RowsPass pass;
  pass.root_id = known->root.id;
  pass.row = [](MetadataRow&) { return true; };
  Tally tally;
  const Status parsed = run_rows_pass(*file, *known, pass, tally);
  const double rows_s = cpu_s();
  size_t json_bytes = 0;
  pass.row = [&](MetadataRow& row) { return json_bytes += row_json(row).size(), true; };
  Tally again;
  const Status written = run_rows_pass(*file, *known, pass, again);
  const double json_s = cpu_s();
  if (!parsed || !written) return std::fputs("the document is broken\n", stderr), 1;
  const long peak = peak_kib();
  std::printf(
      "{\"bytes\":%lld,\"rows\":%llu,\"workflows\":%llu,\"read_s\":%.3f,\"pass1_s\":%.3f,\"pass2_s\":%.3f,\"pass2_json_"
      "s\":%.3f,\"json_bytes\":%zu,\"peak_kib\":%ld,\"peer_s\":%.3f}\n",
      static_cast<long long>(bytes), static_cast<unsigned long long>(tally.rows),
      static_cast<unsigned long long>(known->workflows), read_s - start, survey_s - read_s, rows_s - survey_s,
      json_s - rows_s, json_bytes, peak, peer_s(argv[1]));
  return 0;
}
