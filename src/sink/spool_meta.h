// meta.json of a spooled run: all that is needed to register, name and close it elsewhere, also after tacho died.
// Hidden fields and secrets are not in it. Pure, thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "base/writer.h"
#include "model/run.h"
#include "spool/contract.h"

namespace tacho {

// Where a spooled run goes.
struct SpoolTarget {
  std::string_view kind = kServiceKind;  // of spool/contract.h
  std::string api_url = {};              // base URL of the service
  std::string bucket_uri = {};           // s3://bucket/prefix
  std::string data_source = {};   // "inline" or "local": what the service calls rows that come with the finish call
  std::string store_folder = {};  // of the run in the local store; empty without one
  bool no_cloud = false;
};

// host_known: no field of the host will come later; registration may wait a moment for that.
void write_spool_meta(Writer& out, const Run& run, const SpoolTarget& target, std::string_view header, bool host_known);

}  // namespace tacho
