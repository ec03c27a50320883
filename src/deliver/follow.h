// tacho deliver --follow: one process for the machine, which takes runs of the spool as they become free and sends
// them. SIGTERM and SIGINT end it.
#pragma once
#include "deliver/delivery.h"

namespace tacho {

// One JSON line of --json for a run that was delivered or left.
void print_progress(Delivery& delivery, bool delivered);

int follow_spool(const Delivering& shared);

}  // namespace tacho
