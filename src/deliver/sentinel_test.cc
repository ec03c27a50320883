#include "deliver/sentinel.h"

#include <gtest/gtest.h>

#include "support/double.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// The service refuses a field, and the repeat (twice: a kept connection that is cut is tried anew) without it gets no
// answer: that is an outage, and nothing but that.
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

// A proxy's page, a body that was cut off, JSON without what was asked for: an outage like a 503, and not a reason to
// give up.
TEST(SentinelCalls, A2xxThatSaysNothingIsTemporary) {
  const TempDir dir;
  spill(dir / "rules", R"([
    {"match":{"path":"/runs","nth":1},"action":{"status":200,"body":"<html>sign in</html>"}},
    {"match":{"path":"/runs","nth":2},"action":{"status":201,"body":"{\"run_id\": \"r"}},
    {"match":{"path":"/runs","nth":3},"action":{"status":200,"body":"{\"hello\": 1}"}},
    {"match":{"path":"/runs/.*/refresh-credentials","nth":1},"action":{"status":200,"body":""}},
    {"match":{"path":"/runs/.*/refresh-credentials","nth":2},"action":{"status":200,"body":"{}"}},
    {"match":{"path":"/runs/.*/finish","nth":1},"action":{"status":200,"body":"<html>"}},
    {"match":{"path":"/runs/.*/finish","nth":2},"action":{"status":204}}])");
  spill(dir / "config.json", "{}");
  DoubleServer service("sentinel_double.py", {"--config", dir / "config.json", "--faults", dir / "rules"});
  HttpClient http;
  Sentinel sentinel(http, service.url(), "token");
  Registration registration;
  for (int i = 0; i < 3; ++i) {
    const CallResult failed = sentinel.start({{"job_name", "j"}}, registration);
    EXPECT_EQ(failed.what, ErrorClass::temporary) << failed.text;
    EXPECT_FALSE(failed.refused);
  }
  ASSERT_EQ(sentinel.start({{"job_name", "j"}}, registration).what, ErrorClass::none);
  std::optional<AwsCredentials> fresh;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(sentinel.refresh(registration.run_id, fresh).what, ErrorClass::temporary);
  Processing processing;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(sentinel.finish(registration.run_id, Json::object(), nullptr, processing).what, ErrorClass::temporary);
}

}  // namespace
}  // namespace tacho
