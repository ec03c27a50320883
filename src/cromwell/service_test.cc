#include "cromwell/service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "cromwell/row_json.h"

namespace tacho {
namespace {

ServedRequest about(const std::string& id) {
  ServedRequest request;
  request.method = "POST";
  request.path = "/";
  request.body = "{\"workflowId\":\"" + id + "\",\"state\":\"Succeeded\"}";
  return request;
}
const std::string kBad = "00000000-0000-4000-8000-0000000000aa", kGood = "00000000-0000-4000-8000-0000000000bb";

TEST(Service, AWorkflowThatThrowsIsAnsweredAndTheNextOneIsServed) {
  CallerCheck anybody{CallerSettings()};
  ServiceLimits limits;
  limits.jobs = 1;
  std::atomic<int> calls = 0;
  Service service(
      [&](const std::string& id) -> UploadResult {
        calls++;
        if (id == kBad) throw std::length_error("basic_string::_M_replace_aux");
        return {};
      },
      anybody, limits);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(service.handle(about(kBad)).status, 500) << "and it gives its place back";
  EXPECT_EQ(service.handle(about(kGood)).status, 200);
  EXPECT_EQ(calls, 4) << "a failure is not remembered as done";
}

// Whoever waits for the same workflow is answered, too.
TEST(Service, ThoseWhoWaitForAWorkflowThatThrowsAreAnswered) {
  CallerCheck anybody{CallerSettings()};
  std::atomic<bool> go = false;
  Service service(
      [&](const std::string&) -> UploadResult {
        while (!go) std::this_thread::yield();
        throw 7;
      },
      anybody, {});
  std::atomic<int> refused = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i)
    callers.emplace_back([&] { refused += service.handle(about(kBad)).status == 500 ? 1 : 0; });
  go = true;
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(refused, 5);
}

TEST(RowJson, TimesBefore1970) {
  EXPECT_EQ(rfc3339_us(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339_us(1'234'567'891), "1970-01-01T00:00:01.234567Z");
  EXPECT_EQ(rfc3339_us(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(rfc3339_us(-3'600'000'000'000), "1969-12-31T23:00:00.000000Z");
  EXPECT_EQ(rfc3339_us(-3'599'876'544'000), "1969-12-31T23:00:00.123456Z");
  EXPECT_EQ(rfc3339_us(-123'456), "1969-12-31T23:59:59.999876Z");
}

}  // namespace
}  // namespace tacho
