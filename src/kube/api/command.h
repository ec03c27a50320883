// What the serving commands of tacho-kube have in common: options, help, and their exit status. Thread-safe.
#pragma once
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "base/log.h"

namespace tacho {

// Service is made of the flags and has run(), whose status is the program's.
template <class Service, class Parse, class Help>
int run_command(const char* name, std::span<const std::string> words, Parse parse, Help help) {
  auto flags = parse(words);
  if (!flags) {
    std::fprintf(stderr, "tacho-katib %s: %s\n", name, flags.error().message().c_str());
    return 2;
  }
  if (flags->help) return std::fputs(help().c_str(), stdout) < 0 ? 1 : 0;
  if (flags->verbose) log::set_level(log::Level::verbose);
  return Service(std::move(*flags)).run();
}

}  // namespace tacho
