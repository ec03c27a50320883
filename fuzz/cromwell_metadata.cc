// A workflow's metadata, or anything else: both passes, and every row as JSON.
#include <algorithm>
#include <cstring>
#include <string>

#include "cromwell/row_json.h"
#include "cromwell/rows_pass.h"
#include "os/file.h"
#include "os/temporary_file.h"
#include "target.h"

namespace {

using namespace tacho;
using Token = JsonReader::Token;

// The same tokens, whatever the pieces are.
std::string tokens(std::string_view text, size_t piece) {
  size_t at = 0;
  JsonReader reader([&](char* to, size_t room) -> Result<size_t> {
    const size_t size = std::min({room, piece, text.size() - at});
    std::memcpy(to, text.data() + at, size);
    at += size;
    return size;
  });
  std::string out;
  for (;;) {
    const Token token = reader.next();
    out += static_cast<char>('a' + static_cast<int>(token));
    if (token == Token::key || token == Token::string || token == Token::number) out += reader.text();
    if (token == Token::end) return out;
    if (token == Token::broken) return out + reader.error().what;
  }
}

}  // namespace

void fuzz_one(std::string_view text) {
  require(tokens(text, 1) == tokens(text, 7));
  require(tokens(text, 1) == tokens(text, 1 << 20));
  auto fd = open_temporary_file();
  require(static_cast<bool>(fd) && static_cast<bool>(write_all(fd->get(), text)));
  const MetadataFile file(std::move(*fd));
  auto known = survey(file);
  if (!known) return;
  RowsPass pass;
  pass.options = {true, true, true};
  pass.quiet = true;
  uint64_t rows = 0;
  pass.row = [&](MetadataRow& row) {
    ++rows;
    const std::string json = row_json(row, 10'000 + row_bytes(row));
    size_t at = 0;
    JsonReader reader([&](char* to, size_t room) -> Result<size_t> {
      const size_t size = std::min(room, json.size() - at);
      std::memcpy(to, json.data() + at, size);
      at += size;
      return size;
    });
    require(reader.skip(reader.next()) && reader.next() == Token::end);
    require(row_insert_id(row).size() <= 128);
    return true;
  };
  Tally tally;
  const Status status = run_rows_pass(file, *known, pass, tally);
  require(tally.rows == rows);
  // What pass 1 took, pass 2 takes too.
  require(known->broken.has_value() || static_cast<bool>(status));
}
