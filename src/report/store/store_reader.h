// Reads many runs of one store, one after the other, without what only a single one is asked for: its text, its notes
// and its short id. A hundred thousand of them take a second or two. For one thread; several readers may share a store.
#pragma once
#include <cstdint>
#include <string>

#include "os/fd.h"
#include "report/store/run_reader.h"

namespace tacho {

// By which a later look tells that run.json has changed.
struct RunStamp {
  int64_t size = 0, changed_ns = 0;
};

class StoreReader {
 public:
  explicit StoreReader(std::string store_dir);
  // The run of that name. Where there is none, the error is not_available.
  Result<StoredRun> read(const std::string& name, Kept kept, RunStamp& stamp);

 private:
  Status read_text(const std::string& name, RunStamp& stamp);

  std::string store_dir_;
  Fd store_;
  std::string room_, path_;  // kept from one run to the next
  size_t size_ = 0;          // of the text in room_
};

}  // namespace tacho
