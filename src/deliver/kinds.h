// The one table of remote destinations: for each kind of spooled run, how its delivery is made, whether it matches our
// settings, and how its leftovers are found. A new destination is one more line. Thread-safe (no state).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "deliver/delivery.h"

namespace tacho {

// An option of tacho deliver for a destination's credentials; it sets the variable.
struct CredentialFlag {
  std::string_view flag, value;
  const char* variable;
  std::string_view help;
};

struct DeliveryKind {
  std::string_view name;  // "kind" of meta.json (spool/contract.h)
  std::unique_ptr<Delivery> (*make)(SpoolRun run, Role role, Delivering& shared);
  // Where the run belongs instead, for a person; empty: it matches our settings.
  std::string (*elsewhere)(const SpoolMeta& meta);
  // Leftovers in the folder of a run are sent beside it from the start; the others one at a time, while the run needs
  // nothing.
  bool leftovers_at_once;
  std::span<const CredentialFlag> flags;
};

std::span<const DeliveryKind> delivery_kinds();
// Null: the run names no destination, or one that is not known here.
const DeliveryKind* kind_of(const SpoolMeta& meta);
// Why there is none, for a person.
std::string why_unknown(const SpoolMeta& meta);
// The same for a run in the spool; null also when it cannot be read.
const DeliveryKind* kind_of(const SpoolRun& run);

}  // namespace tacho
