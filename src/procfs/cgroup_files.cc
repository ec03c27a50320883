#include "procfs/cgroup_files.h"

namespace tacho {
namespace {

// Sums of hostile numbers stop at the largest value instead of wrapping.
void add_capped(int64_t& sum, int64_t value) { sum = sum > INT64_MAX - value ? INT64_MAX : sum + value; }

}  // namespace

std::optional<int64_t> parse_single(std::string_view text) {
  Scanner scan(text);
  int64_t value = 0;
  if (!scan.number(value)) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_keyed(std::string_view text, std::string_view key) {
  for (Scanner scan(text); !scan.done(); scan.line()) {
    int64_t value = 0;
    if (scan.word() == key && scan.number(value)) return value;
  }
  return std::nullopt;
}

void parse_cpu_stat(std::string_view text, int64_t& user_us, int64_t& system_us, int64_t& throttled_us,
                    int64_t& throttled_periods) {
  for (Scanner scan(text); !scan.done(); scan.line()) {
    const std::string_view key = scan.word();
    int64_t* value = key == "user_usec"        ? &user_us
                     : key == "system_usec"    ? &system_us
                     : key == "throttled_usec" ? &throttled_us
                     : key == "nr_throttled"   ? &throttled_periods
                                               : nullptr;
    if (value != nullptr) scan.number(*value);
  }
}

std::optional<double> parse_cpu_max(std::string_view text) {
  Scanner scan(text);
  int64_t quota = 0, period = 0;
  if (!scan.number(quota) || !scan.number(period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

CgroupIo parse_io_stat(std::string_view text) {
  CgroupIo sum;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    for (scan.skip_word();;) {
      scan.skip_blanks();
      int64_t value = 0;
      if (scan.literal("rbytes=")) {
        if (scan.number(value)) add_capped(sum.read_bytes, value);
      } else if (scan.literal("wbytes=")) {
        if (scan.number(value)) add_capped(sum.write_bytes, value);
      } else if (!scan.skip_word()) {
        break;
      }
    }
  }
  return sum;
}

CgroupIo parse_blkio_bytes(std::string_view text) {
  CgroupIo sum;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    scan.skip_word();
    const std::string_view operation = scan.word();
    int64_t value = 0;
    if (!scan.number(value)) continue;
    if (operation == "Read") add_capped(sum.read_bytes, value);
    if (operation == "Write") add_capped(sum.write_bytes, value);
  }
  return sum;
}

std::optional<int64_t> count_cpu_list(std::string_view text) {
  Scanner scan(text);
  int64_t count = 0;
  for (int64_t first = 0; scan.number(first);) {
    int64_t last = first;
    if (scan.literal("-") && !scan.number(last)) return std::nullopt;
    if (last < first || last > 1'000'000) return std::nullopt;
    count += last - first + 1;
    if (!scan.literal(",")) break;
  }
  if (count == 0) return std::nullopt;
  return count;
}

}  // namespace tacho
