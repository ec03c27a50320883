#include "os/sibling.h"

#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace tacho {

std::string sibling_of(const std::string& executable, const std::string& program) {
  const size_t slash = executable.rfind('/');
  return (slash == std::string::npos ? "/" : executable.substr(0, slash + 1)) + program;
}

std::string own_program() { return read_link("/proc/self/exe"); }

bool is_own_program(const std::string& path) { return same_file(path, "/proc/self/exe"); }

std::string sibling_path(const std::string& program) { return sibling_of(own_program(), program); }

int become_sibling(const std::string& program, const std::vector<std::string>& words) {
  std::vector<std::string> line{sibling_path(program)};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(line[0].c_str(), arguments.data());
  return errno;
}

}  // namespace tacho
