// Another body, compressed while it is sent; its size is known because it is compressed twice. Not thread-safe.
#pragma once
#include <optional>
#include <string>

#include "deliver/compress.h"
#include "net/http/http.h"

namespace tacho {

class GzipSource final : public BodySource {
 public:
  explicit GzipSource(BodySource& text);  // reads all of it

  int64_t bytes() const override { return bytes_; }
  size_t read(char* to, size_t room) override;
  void rewind() override;

 private:
  bool fill();

  BodySource& text_;
  int64_t bytes_ = 0, taken_ = 0;     // compressed, of all; plain, so far
  std::optional<GzipPieces> pieces_;  // empty once all was compressed
  std::string ready_;                 // what was compressed and not handed out yet
  size_t at_ = 0;                     // in ready_
};

}  // namespace tacho
