// Which providers are asked, and where: the DMI gate, TACHO_CLOUD_PROBE, and the variables that replace a service's own
// address. Reads the environment; sends nothing.
#pragma once
#include <string>
#include <vector>

#include "cloud/dmi.h"
#include "cloud/provider.h"

namespace tacho {

struct Base {
  std::string url;   // without a slash at the end
  std::string host;  // Host header; empty: as in the URL
};

struct Candidate {
  const Vendor* vendor = nullptr;
  std::vector<Base> bases;  // the next one when one cannot be reached
  ProviderContext context;
};

struct Plan {
  std::vector<Candidate> candidates;  // in the order of precedence
  bool cacheable = false;             // only the machine itself decided
  std::string key() const;            // "aws,gcp,…"
};

Plan plan_probes(const Dmi& dmi);

}  // namespace tacho
