// All rows of a run as the "data_csv" of a finish body: read from the spool while they are sent, because a run may be
// larger than this program ever wants to be. Not thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "net/http/http.h"
#include "spool/reader.h"

namespace tacho {

class CsvSource final : public BodySource {
 public:
  // `header` without its end of line.
  CsvSource(const SpoolRun& run, std::string_view header, std::vector<Segment> segments);

  // Checks every segment; must succeed before anything is sent. An Error when one is damaged.
  Status check();
  // The JSON object that gets "data_csv" as its last member; it has at least one other.
  void put_into(std::string_view object);

  int64_t bytes() const override;
  size_t read(char* to, size_t room) override;
  void rewind() override;

 private:
  bool fill();

  const SpoolRun& run_;
  std::vector<Segment> segments_;
  std::string header_, before_;  // in JSON already
  int64_t rows_bytes_ = 0;       // in JSON
  std::string ready_;            // what was read and not handed out yet
  size_t at_ = 0, next_ = 0;     // in ready_; of segments_
  bool began_ = false, ended_ = false, in_header_ = true;
  Fd file_;
};

}  // namespace tacho
