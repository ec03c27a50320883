// Counts every operator new of a test program. Defines the global operators: include it in one file of a program only.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tacho {
inline std::atomic<int64_t> allocations{0};
}

#ifndef TACHO_SANITIZED
// Not inlined: the compiler would see free() meet new.
[[gnu::noinline]] void* operator new(size_t size) {
  ++tacho::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
