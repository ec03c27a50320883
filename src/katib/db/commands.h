// The commands of tacho-katib around the store: `db` serves it, `log` prints it. The words are those after the
// command's name; the return value is the exit code: 0, 1 when it could not be done, 2 when the words make no sense.
#pragma once
#include <span>
#include <string>

namespace tacho {

int db_command(std::span<const std::string> words);
int log_command(std::span<const std::string> words);

}  // namespace tacho
