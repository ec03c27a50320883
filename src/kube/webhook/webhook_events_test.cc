#include "kube/webhook/webhook_events.h"

#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/units.h"
#include "kube/api/object.h"
#include "os/clock.h"

namespace tacho {
namespace {

class Writer : public ClusterWriter {
 public:
  Lookup read(const ObjectKey&) override { return {}; }
  Written create(const ObjectKey& key, std::string_view json) override {
    const std::lock_guard lock(wait_lock);
    keys.push_back(key);
    made.push_back(Json::parse(json));
    wait_lock.notify_all();
    return {Written::State::done, "", ""};
  }
  Written replace(const ObjectKey&, std::string_view) override { return {}; }
  Written patch(const ObjectKey&, std::string_view) override { return {}; }
  size_t wait_for(size_t count) {
    const int64_t until_ns = system_clock().monotonic_ns() + 20 * kNsPerSec;
    std::unique_lock lock(wait_lock);
    while (made.size() < count && wait_lock.wait_until(until_ns)) {}
    return made.size();
  }

  WaitLock wait_lock;
  std::vector<ObjectKey> keys;
  std::vector<Json> made;
};

TEST(WebhookEvents, OnceForWhatIsSaidTwice) {
  Writer writer;
  WebhookEvents events(writer);
  const EventSubject trial{"kubeflow.org/v1beta1", "Trial", "team", "one", "u-1"};
  events.tell(trial, "NotInjected", "no image");
  events.tell(trial, "NotInjected", "no image");
  events.tell(trial, "NotInjected", "no objective");
  events.tell({"kubeflow.org/v1beta1", "Trial", "team", "", ""}, "NotInjected", "nobody's");
  events.tell({"batch/v1", "Job", "team", "two", "u-2"}, "NotInjected", "no image");
  ASSERT_EQ(writer.wait_for(3), 3u);
  events.stop();
  EXPECT_EQ(writer.made.size(), 3u);
  EXPECT_EQ(writer.keys[0].kind, "Event");
  EXPECT_EQ(writer.keys[0].ns, "team");
  const Json& event = writer.made[0];
  EXPECT_EQ(text_at(event, {"involvedObject", "uid"}), "u-1");
  EXPECT_EQ(text_at(event, {"involvedObject", "kind"}), "Trial");
  EXPECT_EQ(text_at(event, {"type"}), "Warning");
  EXPECT_EQ(text_at(event, {"reason"}), "NotInjected");
  EXPECT_EQ(text_at(event, {"message"}), "no image");
  EXPECT_EQ(text_at(event, {"metadata", "generateName"}), "one.");
  EXPECT_EQ(text_at(event, {"metadata", "namespace"}), "team");
  EXPECT_EQ(text_at(writer.made[2], {"involvedObject", "kind"}), "Job");
  events.tell(trial, "NotInjected", "after the end");
  EXPECT_EQ(writer.made.size(), 3u);
}

}  // namespace
}  // namespace tacho
