// A GetObservationLogReply row by row, straight from the bytes of the wire: the answer to a look-up is much larger than
// the rows looked for. Pure; not thread-safe.
#pragma once
#include <google/protobuf/io/zero_copy_stream.h>

#include <functional>

#include "katib/model/row.h"

namespace tacho {

// False: the bytes are no such message; rows before the fault were visited.
bool visit_rows(google::protobuf::io::ZeroCopyInputStream& reply,
                const std::function<void(const MetricRow& row)>& visit);

}  // namespace tacho
