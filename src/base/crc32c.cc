#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#pragma GCC push_options
#pragma GCC target("+crc")
#include <arm_acle.h>
#pragma GCC pop_options
#endif

namespace tacho {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
static_assert(std::endian::native == std::endian::little);

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = value;
  }
  for (size_t k = 1; k < tables.size(); ++k)
    for (size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}
constexpr Tables kTables = make_tables();

uint64_t load64(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

[[maybe_unused]] uint32_t load32(const char* at) {
  uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#if defined(__x86_64__)
// Not __builtin_cpu_supports: it asks some ten times at the start of every program that has it in, used or not, and in
// a virtual machine each CPUID takes microseconds.
bool has_instruction() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_SSE4_2) != 0;
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(const char* at, size_t size, uint32_t crc) {
  uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) wide = _mm_crc32_u64(wide, load64(at));
  crc = static_cast<uint32_t>(wide);
  if (size >= 4) crc = _mm_crc32_u32(crc, load32(at)), at += 4, size -= 4;
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*at));
  return crc;
}
#elif defined(__aarch64__) && defined(__linux__)
bool has_instruction() { return (getauxval(AT_HWCAP) & (1u << 7)) != 0; }  // HWCAP_CRC32

__attribute__((target("+crc"))) uint32_t by_instruction(const char* at, size_t size, uint32_t crc) {
  for (; size >= 8; at += 8, size -= 8) crc = __crc32cd(crc, load64(at));
  if (size >= 4) crc = __crc32cw(crc, load32(at)), at += 4, size -= 4;
  for (; size > 0; ++at, --size) crc = __crc32cb(crc, static_cast<unsigned char>(*at));
  return crc;
}
#else
bool has_instruction() { return false; }
uint32_t by_instruction(const char*, size_t, uint32_t crc) { return crc; }
#endif

}  // namespace

uint32_t crc32c_portable(std::string_view bytes, uint32_t crc) {
  crc = ~crc;
  const char* at = bytes.data();
  size_t size = bytes.size();
  for (; size >= 8; at += 8, size -= 8) {
    const uint64_t word = load64(at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; size > 0; ++at, --size) crc = kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

uint32_t crc32c(std::string_view bytes, uint32_t crc) {
  static const bool fast = has_instruction();
  if (!fast) return crc32c_portable(bytes, crc);
  return ~by_instruction(bytes.data(), bytes.size(), ~crc);
}

}  // namespace tacho
