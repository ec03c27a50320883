// tacho version: one line, or what a package wants to know of this program.
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/writer.h"
#include "cli/commands.h"
#include "os/sibling.h"

namespace tacho {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "amd64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "arm64";
#else
constexpr std::string_view kArchitecture = "unknown";
#endif

// Whether the kernel had to call a loader for it: the program's own headers tell.
bool is_dynamic() {
  const auto* header = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
  const unsigned long count = ::getauxval(AT_PHNUM);
  for (unsigned long i = 0; header != nullptr && i < count; ++i)
    if (header[i].p_type == PT_INTERP) return true;
  return false;
}

std::string version_json() {
  Writer text;
  JsonWriter json(text);
  json.object();
  json.key("version").value(TACHO_VERSION);
  json.key("os").value("linux");
  json.key("arch").value(kArchitecture);
  json.key("build").value(is_dynamic() ? "dynamic" : "static");
  json.key("beside").object();
  for (const char* program : {kDelivererName, kGpuReaderName})
    json.key(program).value(::access(sibling_path(program).c_str(), X_OK) == 0);
  json.end_object();
  json.end_object();
  text.put('\n');
  return std::string(text.view());
}

}  // namespace

int version_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "version takes no argument", started.line.words[0], "write tacho version --json"});
  return print(is_set(started.line, "json") ? version_json() : std::string(kVersionLine));
}

}  // namespace tacho
