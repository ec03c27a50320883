// toml++ (header-only, MIT) as all of tacho uses it: no exceptions, no formatters. It compiles slowly, so a program
// includes it in the one file that reads its configuration.
#pragma once
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <toml++/toml.h>
#pragma GCC diagnostic pop
