// The readers of tacho-katib over made-up files: bench_katib make KIND PATH MIB, then bench_katib read KIND PATH
// METRIC;METRIC. KIND: text_rare (a metric in one line of a thousand), text_all, json, tfevent (one tag of ten is
// wanted). read prints one JSON line: bytes, rows, wall and CPU seconds, the highest resident memory.
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "katib/read/event.h"
#include "katib/read/readers.h"

namespace {

using namespace tacho;

std::string text_line(size_t i, bool metric) {
  char line[256];
  const auto second = static_cast<unsigned>(i / 1000 % 60), step = static_cast<unsigned>(i % 100000);
  const double value = 1.0 / static_cast<double>(1 + i % 977);
  if (metric)
    std::snprintf(line, sizeof line,
                  "2026-11-15T09:30:%02u.%06uZ INFO train: epoch 3 step %u loss=%.6f accuracy=%.4f lr=1e-3\n", second,
                  static_cast<unsigned>(i % 1000000), step, value, 1 - value);
  else
    std::snprintf(
        line, sizeof line,
        "2026-11-15T09:30:%02u.%06uZ INFO data: batch %u of shard %u read in %.4f s, %u examples in the queue\n",
        second, static_cast<unsigned>(i % 1000000), step, step % 64, value, step % 512);
  return line;
}

std::string json_line(size_t i) {
  char line[256];
  const double value = 1.0 / static_cast<double>(1 + i % 977);
  std::snprintf(line, sizeof line,
                "{\"timestamp\": %zu.%06zu, \"epoch\": 3, \"step\": %zu, \"loss\": \"%.6f\", \"accuracy\": \"%.4f\", "
                "\"note\": {\"lr\": 0.001, \"gpu\": [1, 2]}}\n",
                1'763'200'000 + i / 1000, i % 1'000'000, i, value, 1 - value);
  return line;
}

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An event with one simple value, as a writer makes it for each scalar.
std::string event_record(size_t i) {
  static const char* const kTags[] = {
      "loss",       "learning_rate", "train/examples_per_second", "train/grad_norm", "val/f1", "val/precision",
      "val/recall", "system/queue",  "system/temperature",        "weights/mean"};
  const std::string tag = kTags[i % 10];
  const auto field = [](char key, const std::string& bytes) {
    return std::string{key, static_cast<char>(bytes.size())}.append(bytes);
  };
  std::string value = field('\x0a', tag);
  value += '\x15';
  put(value, 1.0f / static_cast<float>(1 + i % 977));
  const std::string summary = field('\x0a', value);
  std::string payload = "\x09";
  put(payload, 1.7632e9 + static_cast<double>(i) / 100);
  payload += "\x10";
  for (size_t step = i / 10;; step >>= 7) {
    payload += static_cast<char>((step & 0x7f) | (step >= 0x80 ? 0x80 : 0));
    if (step < 0x80) break;
  }
  payload += field('\x2a', summary);
  std::string record;
  put(record, static_cast<uint64_t>(payload.size()));
  put(record, masked_crc(record));
  record += payload;
  put(record, masked_crc(payload));
  return record;
}

int make(const std::string& kind, const std::string& path, size_t mib) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::string block;
  size_t done = 0;
  for (size_t i = 0; done + block.size() < mib << 20; ++i) {
    if (kind == "text_rare") block += text_line(i, i % 1000 == 0);
    else if (kind == "text_all") block += text_line(i, true);
    else if (kind == "json") block += json_line(i);
    else if (kind == "tfevent") block += event_record(i);
    else return 2;
    if (block.size() < 1 << 20) continue;
    file << block;
    done += block.size();
    block.clear();
  }
  file << block;
  return file.flush() ? 0 : 1;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of this program alone: ru_maxrss remembers the one that started it.
long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  return 0;
}

int read(const std::string& kind, const std::string& path, const std::string& metrics) {
  ReaderOptions options;
  options.metrics = split_items(metrics);
  std::unique_ptr<Reader> reader;
  if (kind.starts_with("text")) reader = std::move(*make_text_reader(path, options));
  else if (kind == "json") reader = make_json_reader(path, options);
  else reader = make_tfevent_reader(path.substr(0, path.rfind('/')), options);
  size_t rows = 0;
  const double cpu = cpu_seconds();
  const auto begun = std::chrono::steady_clock::now();
  for (bool more = true; more;) {
    const auto result = reader->read(true, 5000, [&](MetricRow&&) { ++rows; });
    if (!result) return std::fprintf(stderr, "%s\n", result.error().message().c_str()), 1;
    more = *result;
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const double used = cpu_seconds() - cpu;
  struct stat status {};
  ::stat(path.c_str(), &status);
  std::printf("{\"bytes\": %lld, \"rows\": %zu, \"wall_s\": %.4f, \"cpu_s\": %.4f, \"peak_kib\": %ld}\n",
              static_cast<long long>(status.st_size), rows, wall, used, peak_kib());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "make") == 0) return make(argv[2], argv[3], std::strtoul(argv[4], nullptr, 10));
  if (argc == 5 && std::strcmp(argv[1], "read") == 0) return read(argv[2], argv[3], argv[4]);
  return std::fprintf(stderr, "bench_katib make|read KIND PATH MIB|METRICS\n"), 2;
}
