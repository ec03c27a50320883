#include "os/library.h"

#ifndef TACHO_STATIC
#include <dlfcn.h>
#endif

namespace tacho {

#ifdef TACHO_STATIC

// dlopen in a static glibc program needs the very same glibc on the machine it runs on: not to be relied on.
Result<Library> Library::open(const std::string& name) {
  return Error{Code::not_available, "the static build of tacho cannot load libraries", name,
               "use the dynamically linked tacho on machines with a GPU"};
}

void* Library::symbol(const char*) const { return nullptr; }

#else

Result<Library> Library::open(const std::string& name) {
  // Lazy: a driver library has thousands of functions, of which a few are used.
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error{Code::not_available, "cannot load the library", name, reason != nullptr ? reason : ""};
  }
  return Library(handle, name);
}

void* Library::symbol(const char* name) const { return ::dlsym(handle_, name); }

#endif

}  // namespace tacho
