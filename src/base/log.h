// Messages to the person on stderr, each finished with what to do next. The same warning is printed once and counted
// after that. What a message quotes from outside cannot leave its line, nor reach the terminal. Thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho::log {

enum class Level { quiet, normal, verbose };
void set_level(Level level);
void set_ascii(bool ascii);  // for a terminal that knows nothing else (base/text.h)

void error(std::string_view text);  // "tacho: …", always
void info(std::string_view text);   // good news, or a step that was meant to be; silent when quiet, counted as nothing
void warn(std::string_view text);   // once a text; silent when quiet
void warn(const Error& error);      // not_available and gone are shown by -v only
void debug(std::string_view text);  // -v only, once a text
uint64_t warnings();                // how many were raised, printed or not

// A line without an end stands on the terminal and may be written over: the next message begins on a clean one.
void unfinished_line(bool there);

// Where rows go to stderr, no line of text may come between them: from hold() on messages are kept, the first hundred
// of them, until take() hands them over (oldest first) or release() prints them and those that come later at once.
void hold();
bool holds_any();  // cheap: asked at every row
std::vector<std::string> take();
void release();

}  // namespace tacho::log
