#include "os/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tacho {
namespace {

// The program itself comes first. A segment that is not written to holds nothing but the file's own bytes; what the
// loader made read-only after relocation lies in a segment that is.
int give_back_segments(dl_phdr_info* program, size_t, void* libraries_too) {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const bool is_file = program->dlpi_name[0] == '\0' || program->dlpi_name[0] == '/';  // not the kernel's vDSO
  for (int i = 0; is_file && i < program->dlpi_phnum; ++i) {
    const auto& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t from = (program->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const uintptr_t to = (program->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
    if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
  return *static_cast<const bool*>(libraries_too) ? 0 : 1;
}

}  // namespace

void give_back_memory(bool libraries_too) {
  ::malloc_trim(0);
  ::dl_iterate_phdr(give_back_segments, &libraries_too);
}

}  // namespace tacho
