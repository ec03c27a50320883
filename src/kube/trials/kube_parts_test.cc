// The small parts of the API client: objects, access, throttling, the queue, the lease.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/time_text.h"
#include "base/units.h"
#include "kube/api/access.h"
#include "kube/api/api_client.h"
#include "kube/api/leader.h"
#include "kube/api/listen_address.h"
#include "kube/api/object.h"
#include "kube/api/object_cache.h"
#include "kube/api/resource_watch.h"
#include "kube/api/work_queue.h"
#include "kube/trials/trials_flags.h"
#include "kube/trials/trials_metrics.h"
#include "os/clock.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(Object, ListsAreSplitWithoutATree) {
  std::vector<std::string> items;
  const auto head = split_list(
      R"( {"kind":"TrialList", "items" : [ {"a":"]}\"{"} , {"b":[1,{"c":2}]},3 ],"metadata":{"resourceVersion":"7","continue":"x=="}} )",
      [&](std::string_view item) { items.emplace_back(item); });
  ASSERT_TRUE(head);
  EXPECT_EQ(head->resource_version, "7");
  EXPECT_EQ(head->continue_token, "x==");
  EXPECT_EQ(items, (std::vector<std::string>{R"({"a":"]}\"{"})", R"({"b":[1,{"c":2}]})", "3"}));
  const auto ignore = [](std::string_view) {};
  EXPECT_TRUE(split_list(R"({"metadata":{"resourceVersion":"1"},"items":null})", ignore));
  for (const char* broken : {"", "[]", "{", R"({"items":[})", R"({"items":[{]})", R"({"items":[1 2],"metadata":{}})",
                             R"({"items":[]})", R"({"metadata":{},"items":[)", R"({"a":"b)"})
    EXPECT_FALSE(split_list(broken, ignore)) << broken;
}

TEST(Object, DepthIsLimited) {
  EXPECT_TRUE(parse_json(std::string(100, '[') + std::string(100, ']')));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\"")) << "brackets in a text do not count";
}

TEST(Object, NothingFollows) {
  EXPECT_FALSE(parse_json(std::string_view("{}\0", 3)));
  EXPECT_FALSE(parse_json(std::string_view("{}\0{", 4)));
  EXPECT_FALSE(parse_json("{} x"));
  EXPECT_TRUE(parse_json(R"({"a":"\u0000"})"));
}

TEST(Object, OwnersAndKeys) {
  const Json pod = Json::parse(
      R"({"metadata":{"namespace":"n","name":"p","ownerReferences":[{"kind":"Job","name":"j","apiVersion":"batch/v1","uid":"1","controller":true},
      {"kind":"Trial","name":"t","apiVersion":"kubeflow.org/v1beta1","uid":"2"}]}})");
  EXPECT_EQ(object_key(pod), "n/p");
  EXPECT_EQ(owners_of(pod).size(), 2u);
  EXPECT_EQ(trial_owner(pod)->name, "t");
  EXPECT_FALSE(
      trial_owner(Json::parse(R"({"metadata":{"ownerReferences":[{"kind":"Trial","apiVersion":"other.org/v1"}]}})")));
  EXPECT_TRUE(owners_of(Json::parse(R"({"metadata":{"ownerReferences":"x"}})")).empty());
}

TEST(Moment, AsKubernetesWritesThem) {
  EXPECT_EQ(format_seconds(1'794'736'800'250'000'000), "2026-11-15T10:00:00Z");
  EXPECT_EQ(format_microseconds(1'794'736'800'250'001'999), "2026-11-15T10:00:00.250001Z");
}

TEST(Access, Kubeconfig) {
  const auto good = parse_kubeconfig(R"(
current-context: b
contexts:
- {name: a, context: {cluster: x, user: y}}
- {name: b, context: {cluster: c, user: u, namespace: team}}
clusters:
- {name: c, cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: Q0E=}}
users:
- {name: u, user: {token: secret, client-certificate-data: Q1JU, client-key-data: S0VZ}}
)",
                                     ".");
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->server, "https://10.0.0.1:6443");
  EXPECT_EQ(good->tls.ca_pem, "CA");
  EXPECT_EQ(good->tls.cert_pem, "CRT");
  EXPECT_EQ(good->tls.key_pem, "KEY");
  EXPECT_EQ(good->token, "secret");
  EXPECT_EQ(good->ns, "team");
}

TEST(Access, TheNameInTheCertificate) {
  const std::string head = "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n";
  const auto good = parse_kubeconfig(
      head + "clusters: [{name: c, cluster: {server: \"https://10.0.0.1\", tls-server-name: kube.test}}]", ".");
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->tls.server_name, "kube.test");
  const auto bad = parse_kubeconfig(
      head + "clusters: [{name: c, cluster: {server: \"https://10.0.0.1\", tls-server-name: \"a/b\"}}]", ".");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("tls-server-name"), std::string::npos);
}

// As kubectl merges them: the first file that has a name counts for it, and file names in it count from its own folder.
TEST(Access, SeveralKubeconfigs) {
  const TempDir folder, other;
  spill(folder / "a", "current-context: x\nusers: [{name: u, user: {tokenFile: token}}]\n");
  spill(folder / "token", "first\n");
  spill(other / "b",
        "current-context: y\nusers: [{name: u, user: {token: second}}]\n"
        "clusters: [{name: c, cluster: {server: \"https://10.0.0.1\", certificate-authority: ca.pem}}]\n");
  spill(other / "ca.pem", "CA");
  spill(other / "c",
        "contexts: [{name: x, context: {cluster: c, user: u, namespace: team}}, {name: y, context: {cluster: no}}]\n");
  const char* old = std::getenv("KUBECONFIG");
  const std::string before = old == nullptr ? "" : old;
  const auto read = [](const std::string& list) {
    ::setenv("KUBECONFIG", list.c_str(), 1);
    return load_access("");
  };
  const auto all = read(folder / "absent" + ":" + folder / "a" + "::" + other / "b" + ":" + other / "c");
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->server, "https://10.0.0.1");
  EXPECT_EQ(all->token, "first");
  EXPECT_EQ(all->tls.ca_pem, "CA");
  EXPECT_EQ(all->ns, "team");
  const auto none = read(folder / "absent");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("absent"), std::string::npos) << none.error().message();
  EXPECT_FALSE(read("::"));
  spill(folder / "broken", "a: [");
  const auto broken = read(folder / "broken" + ":" + other / "b" + ":" + other / "c");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().path, folder / "broken");
  EXPECT_FALSE(load_access(folder / "absent")) << "a file that was named has to be there";
  old == nullptr ? ::unsetenv("KUBECONFIG") : ::setenv("KUBECONFIG", before.c_str(), 1);
}

TEST(Access, BadKubeconfigsSayWhatIsWrong) {
  const std::string head = "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "mapping"},
      {"a: [", "line"},
      {"current-context: z\ncontexts: []", "use-context"},
      {head, "cluster is missing"},
      {head + "clusters: [{name: c, cluster: {}}]", "no server"},
      {head + "clusters: [{name: c, cluster: {server: \"http://10.0.0.1\"}}]", "http"},
      {head + "clusters: [{name: c, cluster: {server: \"https://a\", insecure-skip-tls-verify: true}}]",
       "always verifies"},
      {head + "clusters: [{name: c, cluster: {server: \"https://a\", certificate-authority-data: \"%%\"}}]", "base64"},
      {head + "clusters: [{name: c, cluster: {server: \"https://a\"}}]\nusers: [{name: u, user: {exec: {command: x}}}]",
       "program"},
      {head + "clusters: [{name: c, cluster: {server: \"https://a\"}}]\nusers: [{name: u, user: {tokenFile: "
              "/nowhere/at/all}}]",
       "/nowhere/at/all"},
  };
  for (const auto& [text, word] : cases) {
    const auto access = parse_kubeconfig(text, ".");
    ASSERT_FALSE(access) << text;
    EXPECT_NE(access.error().message().find(word), std::string::npos) << access.error().message();
  }
}

TEST(ApiClient, StatusAndPaths) {
  ApiAnswer answer;
  answer.status = 409;
  read_status(
      R"({"kind":"Status","code":409,"reason":"Conflict","message":"changed","details":{"retryAfterSeconds":3}})",
      answer);
  EXPECT_EQ(answer.text(), "409 Conflict: changed");
  EXPECT_EQ(answer.retry_after_ms, 3'000);
  ApiAnswer plain;
  plain.status = 502;
  read_status("<html>bad gateway</html>\nmore", plain);
  EXPECT_EQ(plain.message, "<html>bad gateway</html>");
  EXPECT_TRUE(plain.may_pass());
  EXPECT_EQ(api_path("v1", "events", "n"), "/api/v1/namespaces/n/events");
  EXPECT_EQ(api_path("kubeflow.org/v1beta1", "trials", "", ""), "/apis/kubeflow.org/v1beta1/trials");
  EXPECT_EQ(api_path("kubeflow.org/v1beta1", "trials", "n", "a b", "status"),
            "/apis/kubeflow.org/v1beta1/namespaces/n/trials/a%20b/status");
}

TEST(ApiClient, TwentyASecondWithABurstOfThirty) {
  TokenBucket bucket(20, 30);
  int64_t now_ns = kNsPerSec;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(bucket.take_ns(now_ns), 0);
  EXPECT_NEAR(static_cast<double>(bucket.take_ns(now_ns)), 50e6, 1e3);
  EXPECT_NEAR(static_cast<double>(bucket.take_ns(now_ns)), 100e6, 1e3);
  now_ns += 10 * kNsPerSec;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(bucket.take_ns(now_ns), 0) << "no more than the burst is saved";
  EXPECT_GT(bucket.take_ns(now_ns), 0);
}

TEST(ObjectCache, ReplacedOnlyWhereNothingNewerCame) {
  ObjectCache cache;
  const auto object = [](const char* uid, const char* version) {
    return CachedObject{uid, version, std::make_shared<const std::string>(version)};
  };
  EXPECT_FALSE(cache.replace("n/a", "1", object("u", "2"))) << "it is gone";
  cache.put("n/a", object("u", "1"));
  EXPECT_FALSE(cache.replace("n/a", "1", object("other", "2")));
  EXPECT_TRUE(cache.replace("n/a", "1", object("u", "2")));
  cache.put("n/a", object("u", "4"));
  EXPECT_FALSE(cache.replace("n/a", "2", object("u", "3"))) << "the reply to a write that somebody has written over";
  EXPECT_EQ(cache.get("n/a").resource_version, "4");
}

TEST(ObjectCache, PackedIsSmallerAndTheSame) {
  for (const bool packed : {false, true}) {
    ObjectCache cache(packed);
    for (const std::string& text : {std::string(), std::string("{}"), std::string(5000, 'a')}) {
      cache.put("n/a", {"uid", "7", std::make_shared<const std::string>(text)});
      EXPECT_EQ(*cache.get("n/a").json, text);
    }
    EXPECT_EQ(cache.peek("n/a").json->size() < 500, packed);
    EXPECT_EQ(cache.peek("n/a").resource_version, "7");
    EXPECT_EQ(cache.keys(), std::vector<std::string>{"n/a"});
    cache.erase("n/a");
    EXPECT_FALSE(cache.get("n/a").json);
  }
}

TEST(Kinds, AsKatibConfigNamesThem) {
  EXPECT_EQ(parse_kind("Job.v1.batch"), (KindName{"batch/v1", "Job"}));
  EXPECT_EQ(parse_kind("Workflow.v1alpha1.argoproj.io"), (KindName{"argoproj.io/v1alpha1", "Workflow"}));
  EXPECT_EQ(parse_kind("Pod.v1."), (KindName{"v1", "Pod"}));
  EXPECT_FALSE(parse_kind("Job"));
  EXPECT_FALSE(parse_kind(".v1.batch"));
}

TEST(WorkQueue, MergesAndKeepsOneWorkerAKey) {
  WorkQueue queue;
  queue.add("a");
  queue.add("a");
  queue.add("b");
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.take(), "a");
  queue.add("a");
  EXPECT_EQ(queue.take(), "b") << "a is in work";
  queue.done("a");
  EXPECT_EQ(queue.take(), "a") << "it came again meanwhile";
  queue.done("a");
  queue.done("b");
  EXPECT_EQ(queue.size(), 0u);
}

TEST(WorkQueue, AppointmentsAndStop) {
  WorkQueue queue;
  queue.add_after("late", 60'000);
  queue.add_after("soon", 1);
  queue.add_after("soon", 60'000);  // the earlier one stays
  EXPECT_EQ(queue.take(), "soon");
  queue.done("soon");
  queue.retry("soon", 0, 1, 10);
  EXPECT_EQ(queue.take(), "soon");
  std::thread stopper([&] { queue.stop(); });
  EXPECT_EQ(queue.take(), std::nullopt);
  stopper.join();
}

TEST(WorkQueue, WhoIsToldToWaitIsNotHurriedByNews) {
  WorkQueue queue;
  const auto taken = [&] { return queue.take().value_or(""); };
  queue.add("busy");
  EXPECT_EQ(taken(), "busy");
  queue.add("busy");  // an event while it is worked on
  queue.retry("busy", 0, 1, 10, 400);
  const int64_t told_ns = system_clock().monotonic_ns();
  queue.done("busy");
  queue.add("busy");
  queue.add_after("busy", 1);
  queue.add_after("other", 50);
  EXPECT_EQ(taken(), "other");
  EXPECT_EQ(taken(), "busy");
  EXPECT_GE(system_clock().monotonic_ns() - told_ns, 300 * kNsPerMs);
  queue.done("busy");
  queue.retry("busy", 0, 60'000, 60'000, 60'000);
  queue.forget("busy");
  queue.add("busy");
  EXPECT_EQ(taken(), "busy") << "another object of its name is nobody's to wait for";
}

LeaderOptions lease_options(const char* identity) {
  LeaderOptions options;
  options.ns = "kubeflow";
  options.name = "lease";
  options.identity = identity;
  return options;
}

TEST(Lease, AgeIsMeasuredByTheOwnClock) {
  LeaseView view(lease_options("me"));
  EXPECT_FALSE(view.may_take(0)) << "nothing is known yet";
  // The other's clock is years behind: only that renewTime changes counts.
  Json lease = Json::parse(
      R"({"metadata":{"resourceVersion":"5"},"spec":{"holderIdentity":"other","leaseDurationSeconds":10,"renewTime":"2001-01-01T00:00:00.000000Z","leaseTransitions":4}})");
  view.see(lease, 100 * kNsPerSec);
  EXPECT_FALSE(view.may_take(109 * kNsPerSec));
  view.see(lease, 109 * kNsPerSec);
  EXPECT_TRUE(view.may_take(110 * kNsPerSec)) << "unchanged for ten seconds";
  lease["spec"]["renewTime"] = "2001-01-01T00:00:02.000000Z";
  view.see(lease, 110 * kNsPerSec);
  EXPECT_FALSE(view.may_take(119 * kNsPerSec));
  const Json taken = view.lease("now", false);
  EXPECT_EQ(text_at(taken, {"spec", "holderIdentity"}), "me");
  EXPECT_EQ(taken["spec"]["leaseTransitions"], 5);
  EXPECT_EQ(text_at(taken, {"metadata", "resourceVersion"}), "5");
  EXPECT_EQ(text_at(taken, {"spec", "acquireTime"}), "now");
}

TEST(Lease, WhatElseIsInItStays) {
  LeaseView view(lease_options("me"));
  view.see(
      Json::parse(
          R"({"metadata":{"resourceVersion":"5","labels":{"a":"b"}},"spec":{"holderIdentity":"","strategy":"x"},"more":1})"),
      kNsPerSec);
  for (const bool release : {false, true}) {
    const Json written = view.lease("t", release);
    EXPECT_EQ(text_at(written, {"metadata", "labels", "a"}), "b");
    EXPECT_EQ(text_at(written, {"metadata", "resourceVersion"}), "5");
    EXPECT_EQ(text_at(written, {"spec", "strategy"}), "x");
    EXPECT_EQ(text_at(written, {"spec", "holderIdentity"}), release ? "" : "me");
    EXPECT_EQ(written["more"], 1);
  }
}

TEST(Lease, RenewedAndGivenAway) {
  LeaseView view(lease_options("me"));
  EXPECT_EQ(view.lease("t0", false)["spec"]["leaseTransitions"], 0) << "a new lease";
  view.see(
      Json::parse(
          R"({"metadata":{"resourceVersion":"5"},"spec":{"holderIdentity":"me","leaseDurationSeconds":10,"acquireTime":"t0","renewTime":"t1","leaseTransitions":4}})"),
      kNsPerSec);
  EXPECT_TRUE(view.held_by_us());
  const Json renewed = view.lease("t2", false);
  EXPECT_EQ(text_at(renewed, {"spec", "acquireTime"}), "t0");
  EXPECT_EQ(renewed["spec"]["leaseTransitions"], 4);
  EXPECT_EQ(text_at(view.lease("t3", true), {"spec", "holderIdentity"}), "");
  view.see(Json::parse(R"({"metadata":{},"spec":{"holderIdentity":""}})"), kNsPerSec);
  EXPECT_TRUE(view.may_take(kNsPerSec)) << "nobody holds it";
}

TEST(TrialsFlags, DefaultsAndForms) {
  const std::vector<std::string> words = {
      "-mode=own", "--metrics-wait", "2m", "--trial-resource=Workflow.v1alpha1.argoproj.io", "--leader-elect=false",
      "-v"};
  const auto flags = parse_trials_flags(words);
  ASSERT_TRUE(flags) << flags.error().message();
  EXPECT_EQ(flags->mode, "own");
  EXPECT_EQ(flags->metrics_wait_ms, 120'000);
  EXPECT_FALSE(flags->leader_elect);
  EXPECT_TRUE(flags->verbose);
  EXPECT_EQ(flags->lease, "3fbc96e9.katib.kubeflow.org");
  EXPECT_EQ(flags->kinds.back(), (KindName{"argoproj.io/v1alpha1", "Workflow"}));
  const auto plain = parse_trials_flags({});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->lease, "tacho.katib.kubeflow.org");
  EXPECT_EQ(plain->db.address, "katib-db-manager.kubeflow:6789");
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"--mode", "x"},
                                              {"--db"},
                                              {"--nonsense"},
                                              {"word"},
                                              {"--workers=99"},
                                              {"--leader-elect=maybe"},
                                              {"--metrics-address", "8080"}})
    EXPECT_FALSE(parse_trials_flags(bad)) << bad[0];
  EXPECT_TRUE(parse_listen("[::1]:80")->on);
  EXPECT_FALSE(parse_listen("0")->on);
}

TEST(TrialsMetrics, Text) {
  TrialsMetrics metrics;
  metrics.count(TrialsMetrics::created, "a");
  metrics.moved("a", "", "Running");
  metrics.moved("a", "Running", "Succeeded");
  const std::string text = metrics.text(true, true, {{"trials", 2, 1, 10}});
  for (const char* line :
       {"tacho_watch_restarts_total{resource=\"trials\"} 2\n", "tacho_watch_relists_total{resource=\"trials\"} 1\n",
        "tacho_leader 1\n", "katib_trial_created_total{namespace=\"a\"} 1\n",
        "katib_trials_current{namespace=\"a\",status=\"Succeeded\"} 1\n",
        "katib_trials_current{namespace=\"a\",status=\"Running\"} 0\n", "tacho_status_conflicts_total 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(metrics.text(false, false, {}).find("katib_"), std::string::npos);
}

}  // namespace
}  // namespace tacho
