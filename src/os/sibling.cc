#include "os/sibling.h"

#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace tacho {

std::string sibling_path(const std::string& program) {
  const std::string self = read_link("/proc/self/exe");
  return self.substr(0, self.rfind('/') + 1) + program;  // npos + 1 is 0: a bare name where there is no /proc
}

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
