// -o prometheus+https://HOST/PATH and -o otlp+https://HOST: rows as CSV in the spool, which tacho-deliver makes samples
// of. meta.json is that of a bucket, with the address as "api_url" and, besides, the object "series": labels, what
// tacho_job_info tells, the resource of OTLP, and at the end how it ended. No secret is in it. Not thread-safe; a row
// allocates nothing.
#pragma once
#include "sink/sink.h"

namespace tacho {

Result<std::unique_ptr<Sink>> open_metric_sink(const std::string& destination, const SinkOptions& options);

}  // namespace tacho
