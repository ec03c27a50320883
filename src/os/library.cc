#include "os/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "base/text.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"

namespace tacho {
namespace {

// The cache holds names and paths of all libraries as strings that end in NUL. Mapped, not read: no memory stays
// behind.
bool is_in_linker_cache(const std::string& name) {
  const Fd file(::open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || about.st_size <= 0) return false;
  const auto size = static_cast<size_t>(about.st_size);
  void* text = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (text == MAP_FAILED) return false;
  const bool found = ::memmem(text, size, name.c_str(), name.size() + 1) != nullptr;
  ::munmap(text, size);
  return found;
}

}  // namespace

bool Library::is_installed(const std::string& name) {
  if (name.find('/') != std::string::npos) return file_exists(name);
  const std::string path = environment_or("LD_LIBRARY_PATH");
  for (const std::string_view folder : split(path, ':'))
    if (!folder.empty() && file_exists(std::string(folder) + "/" + name)) return true;
  for (const char* folder : {"/lib/", "/usr/lib/", "/lib64/", "/usr/lib64/"})
    if (file_exists(folder + name)) return true;
  return is_in_linker_cache(name);
}

#ifdef TACHO_STATIC

// dlopen in a static glibc program needs the very same glibc on the machine it runs on: not to be relied on.
Result<Library> Library::open(const std::string& name) {
  return Error{Code::not_available, "cannot load the library", name,
               is_installed(name) ? "a static tacho leaves that to the programs beside it" : "it is not installed"};
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
