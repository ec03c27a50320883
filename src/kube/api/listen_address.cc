#include "kube/api/listen_address.h"

#include "base/text.h"

namespace tacho {

Result<ListenAddress> parse_listen(const std::string& text) {
  if (text.empty() || text == "0") return ListenAddress{};
  const size_t colon = text.rfind(':');
  const std::optional<uint16_t> port =
      colon == std::string::npos ? std::nullopt : parse_int<uint16_t>(std::string_view(text).substr(colon + 1));
  if (!port) return Error{Code::invalid, "an address is [ADDRESS]:PORT", text, "for example :18080"};
  const std::string address = text.substr(0, colon);
  return ListenAddress{address.empty() ? "[::]" : address, *port, true};
}

}  // namespace tacho
