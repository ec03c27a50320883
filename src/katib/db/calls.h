// What the service's calls do with the store, without threads and servers: bytes of the wire in, a gRPC status out.
// Thread-safe, as the store is.
#pragma once
#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "katib/db/store.h"

namespace tacho {

// Faults of the data come back as UNKNOWN, the only code of Katib's own service, which makes a collector look for the
// bad row; a row without metric comes back as INVALID_ARGUMENT. Faults of the store are UNAVAILABLE: the same call may
// succeed later. `id`: of the report, if it has one; `gone`: whether its caller has given up, asked just before the
// rows are stored for good.
grpc::Status report_call(ObservationStore& store, const grpc::ByteBuffer& request, const std::string& id = "",
                         const std::function<bool()>& gone = {});
grpc::Status get_call(ObservationStore& store, const grpc::ByteBuffer& request, grpc::ByteBuffer& reply);
grpc::Status delete_call(ObservationStore& store, const std::string& trial);
grpc::Status health_call(ObservationStore& store, const std::string& service);

}  // namespace tacho
