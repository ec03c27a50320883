// The providers of clouds, with anything for an answer. Replies stand one after the other, each behind a line "STATUS
// HEADER"; a status of 0 is a time-out. Every provider gets them in turn.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cloud/table.h"
#include "cloud/values.h"
#include "target.h"

namespace {

using namespace tacho;

// "200 metadata-flavor:Google\n…\n\f404 \n…"
std::vector<HttpReply> replies_of(std::string_view text) {
  std::vector<HttpReply> replies;
  for (const std::string_view part : split(text, '\f')) {
    const size_t line_end = std::min(part.find('\n'), part.size());
    const std::string_view line = part.substr(0, line_end);
    const size_t blank = std::min(line.find(' '), line.size());
    HttpReply reply;
    reply.response.status = parse_int<int>(line.substr(0, blank)).value_or(200);
    if (reply.response.status == 0) reply.failure = HttpFailure::timeout;
    const std::string_view header = trim(line.substr(blank));
    if (const size_t colon = header.find(':'); colon != std::string_view::npos)
      reply.response.headers.emplace_back(header.substr(0, colon), header.substr(colon + 1));
    if (line_end < part.size()) reply.response.body = part.substr(line_end + 1);
    replies.push_back(std::move(reply));
  }
  return replies;
}

bool is_header_safe(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void play(const Vendor& vendor, const std::vector<HttpReply>& replies, bool dmi_match) {
  Found found;
  CloudStep step = vendor.first({dmi_match, true, "http://127.0.0.1/task"}, found);
  size_t at = 0;
  int rounds = 0;
  for (; !step.questions.empty(); ++rounds) {
    require(rounds < 10);
    Replies now;
    for (const Question& question : step.questions) {
      for (const auto& [name, value] : question.headers) require(is_header_safe(name) && is_header_safe(value));
      require(question.path.find("user") == std::string::npos);
      now.push_back(replies[at++ % replies.size()]);
    }
    const auto then = step.then;
    step = then(now);
  }
  const Cloud& values = found.values;
  for (const Text& value : {values.vendor_id, values.account_id, values.region_id, values.zone_id, values.instance_type,
                            values.instance_id})
    require(!value || clean(*value) == value);
}

}  // namespace

void fuzz_one(std::string_view text) {
  const std::vector<HttpReply> replies = replies_of(text);
  for (const Vendor& vendor : all_vendors())
    for (const bool dmi_match : {false, true}) play(vendor, replies, dmi_match);
}
