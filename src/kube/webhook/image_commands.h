// What an image runs by itself: its entry point and default arguments. Asked on the admission path, so an answer comes
// from memory; registries are asked elsewhere. Thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tacho {

struct ImageCommand {
  std::vector<std::string> entry_point, arguments;
};

class ImageCommands {
 public:
  virtual ~ImageCommands() = default;
  // Waits for a look-up that is just under way, 300 ms at most and never beyond the deadline; starts none itself.
  virtual std::optional<ImageCommand> find(const std::string& image, const std::string& pull_policy,
                                           int64_t deadline_ns) = 0;
};

}  // namespace tacho
