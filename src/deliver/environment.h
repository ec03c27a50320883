// What deliveries take from their surroundings: cloud discovery for the start body, credentials for a bucket, the
// service's address. Not thread-safe.
#pragma once
#include <string>

#include "deliver/run_delivery.h"

namespace tacho {

// Fills in the functions of `shared`, which must live as long as they are used.
void complete(Delivering& shared);
// SENTINEL_API_URL without its trailing slash, or the default.
std::string service_url();

}  // namespace tacho
