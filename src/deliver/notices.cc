#include "deliver/notices.h"

#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "spool/contract.h"

namespace tacho {

void Notices::line(std::string_view mark, std::string_view text) const {
  std::string whole(mark);
  whole.append(text).append("\n");
  for (size_t i = 0; i + 1 < whole.size(); ++i)
    if (static_cast<unsigned char>(whole[i]) < ' ') whole[i] = ' ';
  // Nobody listens any more when tacho was killed.
  static_cast<void>(write_all(STDERR_FILENO, whole));
}

void Notices::warn(std::string_view kind, std::string_view text) {
  const int64_t now_ns = system_clock().monotonic_ns();
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = last_ns_.try_emplace(std::string(kind), now_ns);
  if (!is_new && now_ns - entry->second < 60 * kNsPerSec) return;
  entry->second = now_ns;
  if (beside_) line("", text);
  else log::warn(text);
}

void Notices::must(std::string_view text) {
  if (beside_) line(kMustSayMark, text);
  else log::error(text);
}

void Notices::message(std::string_view word) const {
  if (beside_) line("", word);
}

}  // namespace tacho
