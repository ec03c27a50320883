// What gRPC prints by itself, turned into messages for -v: a peer that is away is reported once, by whoever called it.
#pragma once

namespace tacho {

void quiet_grpc();  // leaves it alone when GRPC_VERBOSITY is set; thread-safe

}  // namespace tacho
