#include "deliver/sentinel.h"

#include <gtest/gtest.h>

#include "support/double.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// The service refuses a field, and the repeat (twice: a kept connection that is cut is tried anew) without it gets no answer: that is an outage, and nothing but that.
TEST(SentinelCalls, OutageAfterARefusedFieldIsAnOutage) {
  const TempDir dir;
  spill(dir / "config.json", R"({"reject":["job_name"],"prefix":null})");
  spill(dir / "rules", R"([{"match":{"path":"/runs","nth":[2,3]},"action":{"reset":"body"}}])");
  DoubleServer service("sentinel_double.py", {"--config", dir / "config.json", "--faults", dir / "rules"});
  HttpClient http;
  Sentinel sentinel(http, service.url(), "token");
  Registration registration;
  const CallResult failed = sentinel.start({{"job_name", "j"}}, registration);
  EXPECT_EQ(failed.what, ErrorClass::temporary);
  EXPECT_EQ(failed.status, 0);
  const CallResult good = sentinel.start({{"job_name", "j"}}, registration);
  EXPECT_EQ(good.what, ErrorClass::none);
  EXPECT_EQ(good.dropped, std::vector<std::string>{"job_name"});
  EXPECT_FALSE(registration.run_id.empty());
}

}  // namespace
}  // namespace tacho
