// Bytes from a client: every request that comes out is answered, no more than one at a time, and nothing is left in the
// books.
#include <string>

#include "http/protocol.h"
#include "target.h"

namespace {

using namespace tacho;

// Without the pieces: what the requests were.
std::string serve(std::string_view text, size_t piece) {
  constexpr int64_t kBudget = 1 << 18;
  BodyBudget budget(kBudget, kBudget);
  std::string seen;
  {
    std::unique_ptr<Protocol> protocol;
    int open = 0;
    const auto dispatch = [&](uint64_t number, ServedRequest&& request) {
      require(++open == 1 && request.body.size() <= 1000 && request.headers.size() <= kFieldLimit);
      for (const auto& [name, value] : request.headers)
        require(name.find_first_of("\r\n") == std::string::npos && value.find_first_of("\r\n") == std::string::npos);
      seen += request.method + ' ' + request.path + ' ' + request.body + '\n';
      ServedResponse response;
      response.body = request.path;
      protocol->respond(number, std::move(response));
    };
    protocol = make_http1({1000, &budget, false, nullptr, {}}, dispatch);
    std::string out;
    const auto flush = [&] {
      for (int rounds = 0; rounds < 10'000; ++rounds) {
        out.clear();
        protocol->collect(out);
        open = 0;
        if (protocol->finished() || !protocol->proceed()) return;
        protocol->collect(out);
        if (out.empty()) return;
      }
    };
    for (size_t at = 0; at < text.size(); at += piece) {
      if (!protocol->receive(text.substr(at, piece))) break;
      flush();
      (void)protocol->progress();
      if (protocol->finished()) break;
    }
    protocol->drain();
    protocol->collect(out);
  }
  require(budget.left_bytes() == 2 * kBudget);
  return seen;
}

}  // namespace

void fuzz_one(std::string_view text) {
  // In pieces whose size the input chooses, and in two others: how it comes makes no difference to what is understood.
  const std::string one = serve(text, text.empty() ? 1 : 1 + static_cast<unsigned char>(text[0]));
  require(one == serve(text, 1));
  require(one == serve(text, 4096));
}
