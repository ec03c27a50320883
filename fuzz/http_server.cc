// Bytes from a client, as HTTP/1.1 and as HTTP/2: every request that comes out is answered, and nothing is left in the
// books.
#include <string>

#include "http/protocol.h"
#include "target.h"

namespace {

using namespace tacho;

void serve(bool second, std::string_view text) {
  constexpr int64_t kBudget = 1 << 16;
  BodyBudget budget(kBudget);
  {
    std::unique_ptr<Protocol> protocol;
    const auto dispatch = [&](uint64_t stream, ServedRequest&& request) {
      require(request.body.size() <= 1000);
      ServedResponse response;
      response.body = request.path;
      protocol->respond(stream, std::move(response));
    };
    const Protocol::Limits limits{1000, &budget, false};
    protocol = second ? make_http2(limits, dispatch) : make_http1(limits, dispatch);
    std::string out;
    // In pieces whose size the input chooses.
    const size_t piece = text.empty() ? 1 : 1 + static_cast<unsigned char>(text[0]);
    for (size_t at = 0; at < text.size(); at += piece) {
      if (!protocol->receive(text.substr(at, piece))) break;
      protocol->collect(out);
      (void)protocol->progress();
      if (protocol->finished()) break;
    }
    protocol->drain();
    protocol->collect(out);
  }
  require(budget.take(kBudget));
}

}  // namespace

void fuzz_one(std::string_view text) {
  serve(false, text);
  serve(true, text);
  serve(true, std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(9, '\0').replace(3, 1, "\x04") +
                  std::string(text));
}
