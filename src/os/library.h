// A shared library that is loaded at run time and never unloaded: a thread may still be inside it when the process
// ends. Thread-safe.
#pragma once
#include <string>

#include "base/result.h"

namespace tacho {

class Library {
 public:
  // By soname (searched as the dynamic linker does) or by path. A static build cannot load any: the error says so.
  static Result<Library> open(const std::string& name);
  // Whether there is one to open, without loading it: the file of a path; for a soname the folders of LD_LIBRARY_PATH,
  // the usual ones, and any mention in /etc/ld.so.cache.
  static bool is_installed(const std::string& name);

  void* symbol(const char* name) const;  // null when the library has no such function
  const std::string& name() const { return name_; }

 private:
  Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_;
  std::string name_;
};

}  // namespace tacho
