#include "os/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

#include "os/file.h"

namespace tacho {

void give_back_memory(bool libraries_too) {
  ::malloc_trim(0);
  const std::string program = read_link("/proc/self/exe");
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (program.empty() || !maps) return;
  // 55d0c1c00000-55d0c2a00000 r-xp 00a00000 fe:01 1234   /usr/bin/tacho-katib
  char line[4608];
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uintptr_t from = 0, to = 0;
    char rights[5] = "";
    int name_at = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %n", &from, &to, rights, &name_at) != 3 || name_at == 0) continue;
    std::string name(line + name_at);
    if (!name.empty() && name.back() == '\n') name.pop_back();
    const bool is_meant = name == program || (libraries_too && name.starts_with('/'));
    if (std::string_view(rights) == "r-xp" && is_meant) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
}

}  // namespace tacho
