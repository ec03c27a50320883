// Values of the surroundings as they may be stored: what started_by.cc, orchestrators.cc and executors.cc share.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "discover/started_by.h"

namespace tacho {

constexpr size_t kLongestValue = 256;

// Invalid UTF-8 becomes U+FFFD, control bytes blanks, and what is longer than 256 bytes ends at a character before.
std::string stored_value(std::string_view raw);

class Variables {
 public:
  explicit Variables(const JobSurroundings& surroundings) : surroundings_(surroundings) {}
  std::string text(const std::string& name) const { return stored_value(surroundings_.variable(name)); }
  bool has(const std::string& name) const { return !surroundings_.variable(name).empty(); }
  // The first that is set.
  template <class... More>
  std::string first(const std::string& name, const More&... more) const {
    std::string value = text(name);
    if constexpr (sizeof...(more) > 0) return value.empty() ? first(more...) : value;
    return value;
  }
  std::optional<int64_t> number(const std::string& name) const;  // 0 or more; anything else is as if it were unset
  // One less, for those who count attempts from 1; nothing below 0.
  std::optional<int64_t> attempt(const std::string& name) const;
  std::string file_start(const std::string& path, size_t limit) const { return surroundings_.file_start(path, limit); }
  const JobSurroundings& all() const { return surroundings_; }

 private:
  const JobSurroundings& surroundings_;
};

// The table of orchestrators, and that of executors: the first that is there, nothing where none is.
std::optional<Starter> find_orchestrator(const Variables& variables);
std::optional<Starter> find_executor(const Variables& variables);
// Slurm has rules of its own: arrays, heterogeneous jobs, steps.
Starter slurm_job(const Variables& variables);
// Whether `host` is one of a list such as "n[1-2,05],login".
bool is_in_host_list(std::string_view list, std::string_view host);

}  // namespace tacho
