// tacho called by the name of a shell: what is run in it is recorded. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// "bash" of tacho-bash, bash and -bash, "sh" likewise; empty: not called as a shell.
std::string_view real_shell_name(std::string_view program);

// The first of this name in PATH that is not tacho under another name, else in /bin or /usr/bin; empty: there is none.
std::string find_real_shell(std::string_view name, const std::string& path);

}  // namespace tacho
