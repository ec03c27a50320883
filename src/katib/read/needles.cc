#include "katib/read/needles.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/short_text.h"

namespace tacho {
namespace {

// How often a byte stands in logs, roughly: the lower, the more telling.
int frequency(char c) {
  if (c == ' ' || c == 'e' || c == 't' || c == 'a' || c == 'o' || c == 'i' || c == 'n' || c == 's' || c == 'r')
    return 9;
  if (c >= '0' && c <= '9') return 8;
  if (c == 'l' || c == 'd' || c == 'c' || c == 'u' || c == 'm' || c == 'p' || c == 'h' || c == '.' || c == ':')
    return 6;
  if (c == '=' || c == '-' || c == '/' || c == '"' || c == ',') return 4;
  if (c >= 'a' && c <= 'z') return 3;
  if (c >= 'A' && c <= 'Z') return 2;
  return 1;
}

const char* find_plain(const char* from, const char* end, const std::string& word) {
  if (from >= end) return nullptr;
  return static_cast<const char*>(::memmem(from, static_cast<size_t>(end - from), word.data(), word.size()));
}

#if defined(__x86_64__)
// Each looks at whole blocks and leaves `from` at the first byte that it did not.
const char* find_sse2(const char*& from, const char* end, const std::string& word, size_t first, size_t second) {
  const __m128i a = _mm_set1_epi8(word[first]), b = _mm_set1_epi8(word[second]);
  const auto load = [](const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  for (; static_cast<size_t>(end - from) >= 16 + word.size(); from += 16) {
    auto mask = static_cast<unsigned>(_mm_movemask_epi8(
        _mm_and_si128(_mm_cmpeq_epi8(load(from + first), a), _mm_cmpeq_epi8(load(from + second), b))));
    for (; mask != 0; mask &= mask - 1) {
      const char* at = from + __builtin_ctz(mask);
      if (same_bytes(at, word.data(), word.size())) return at;
    }
  }
  return nullptr;
}

__attribute__((target("avx2,bmi"))) const char* find_avx2(const char*& from, const char* end, const std::string& word,
                                                          size_t first, size_t second) {
  const __m256i a = _mm256_set1_epi8(word[first]), b = _mm256_set1_epi8(word[second]);
  for (; static_cast<size_t>(end - from) >= 32 + word.size(); from += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + first));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + second));
    auto mask =
        static_cast<unsigned>(_mm256_movemask_epi8(_mm256_and_si256(_mm256_cmpeq_epi8(x, a), _mm256_cmpeq_epi8(y, b))));
    for (; mask != 0; mask &= mask - 1) {
      const char* at = from + __builtin_ctz(mask);
      if (same_bytes(at, word.data(), word.size())) return at;
    }
  }
  return nullptr;
}
#endif

}  // namespace

Needle::Needle(std::string word) : word_(std::move(word)) {
  const auto rarer = [&](size_t a, size_t b) { return frequency(word_[a]) < frequency(word_[b]); };
  for (size_t i = 1; i < word_.size(); ++i)
    if (rarer(i, first_)) first_ = i;
  second_ = first_ == 0 ? word_.size() - 1 : 0;
  for (size_t i = 0; i < word_.size(); ++i)
    if (i != first_ && rarer(i, second_)) second_ = i;
  if (first_ > second_) std::swap(first_, second_);
}

const char* Needle::find(const char* from, const char* end) const {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  const char* at = wide ? find_avx2(from, end, word_, first_, second_) : find_sse2(from, end, word_, first_, second_);
  if (at != nullptr) return at;
#endif
  return find_plain(from, end, word_);
}

NeedleScan::NeedleScan(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool covered = std::any_of(needles_.begin(), needles_.end(),
                                     [&](const Needle& other) { return word.find(other.word()) != std::string::npos; });
    if (!word.empty() && word.find('\n') == std::string::npos && !covered) needles_.emplace_back(word);
  }
  found_.resize(needles_.size());
}

void NeedleScan::start(std::string_view text) {
  end_ = text.data() + text.size();
  for (size_t i = 0; i < needles_.size(); ++i) {
    found_[i] = needles_[i].find(text.data(), end_);
    if (found_[i] == nullptr) found_[i] = end_;
  }
}

const char* NeedleScan::next(const char* from) {
  const char* nearest = end_;
  for (size_t i = 0; i < needles_.size(); ++i) {
    if (found_[i] < from) {
      found_[i] = needles_[i].find(from, end_);
      if (found_[i] == nullptr) found_[i] = end_;
    }
    nearest = std::min(nearest, found_[i]);
  }
  return nearest == end_ ? nullptr : nearest;
}

}  // namespace tacho
