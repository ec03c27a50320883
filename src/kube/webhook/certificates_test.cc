#include "kube/webhook/certificates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/api/cluster_test_support.h"
#include "kube/webhook/certificate_keeper.h"
#include "kube/webhook/look_times.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr int64_t kNow = 1'800'000'000;

TEST(Certificates, IssuedForAllNames) {
  const Result<KeyPair> ca = make_ca(kNow);
  ASSERT_TRUE(ca);
  const std::vector<std::string> names = service_names("tacho", "kubeflow", {"127.0.0.1", "::1", "hook.example"});
  const Result<KeyPair> server = issue_certificate(*ca, names, kNow);
  ASSERT_TRUE(server) << server.error().message();
  const Result<CertificateFacts> facts = read_certificate(server->certificate);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->names,
            std::vector<std::string>({"tacho.kubeflow.svc", "tacho", "tacho.kubeflow",
                                      "tacho.kubeflow.svc.cluster.local", "127.0.0.1", "::1", "hook.example"}));
  EXPECT_EQ(facts->not_after_s, kNow + 365 * kDaySeconds);
  EXPECT_LE(facts->not_before_s, kNow);
  EXPECT_EQ(read_certificate(ca->certificate)->not_after_s, kNow + 3650 * kDaySeconds);
  EXPECT_TRUE(is_trusted(server->certificate, ca->certificate, kNow));
  EXPECT_FALSE(is_trusted(server->certificate, ca->certificate, kNow + 366 * kDaySeconds));
  EXPECT_TRUE(belongs(server->certificate, server->key));
  EXPECT_FALSE(belongs(server->certificate, ca->key));
  const Result<KeyPair> other = make_ca(kNow);
  EXPECT_FALSE(is_trusted(server->certificate, other->certificate, kNow));
  EXPECT_TRUE(is_trusted(server->certificate, other->certificate + ca->certificate, kNow));
  EXPECT_EQ(split_bundle(other->certificate + ca->certificate + other->certificate).size(), 2u);
}

TEST(Certificates, BadInput) {
  const Result<KeyPair> ca = make_ca(kNow);
  EXPECT_FALSE(issue_certificate({"x", "y"}, {"a"}, kNow));
  EXPECT_FALSE(issue_certificate(*ca, {"a,DNS:evil"}, kNow));
  EXPECT_TRUE(issue_certificate(*ca, {std::string(60, 'a') + ".very-long-name.example"}, kNow))
      << "longer than a common name may be";
  EXPECT_FALSE(read_certificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  EXPECT_FALSE(is_trusted("", "", kNow));
  EXPECT_EQ(from_base64(to_base64("a")), "a");
  EXPECT_EQ(from_base64("!!!!"), "");
  EXPECT_EQ(from_base64("abc"), "");
}

class Keeper : public ::testing::Test {
 protected:
  Keeper() {
    cluster_.put_text(
        R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"tacho"},
      "webhooks":[{"name":"a","clientConfig":{"service":{"name":"s"}}},{"name":"b","clientConfig":{"url":"https://x","caBundle":"T0xE"}}]})");
  }
  CertificateKeeper keeper(const std::string& folder) {
    return {cluster_, {"kubeflow", "secret", {"tacho.kubeflow.svc"}, {"tacho"}, folder}};
  }
  std::string bundle() {
    const Json hooks =
        cluster_.object({"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "tacho"})["webhooks"];
    EXPECT_EQ(hooks[0]["clientConfig"]["caBundle"], hooks[1]["clientConfig"]["caBundle"]);
    return from_base64(hooks[0]["clientConfig"]["caBundle"].get<std::string>());
  }
  std::string secret(const char* key) {
    return from_base64(cluster_.object({"v1", "Secret", "kubeflow", "secret"})["data"][key].get<std::string>());
  }
  FakeCluster cluster_;
  TempDir temp_;
};

TEST_F(Keeper, FirstLookMakesEverything) {
  CertificateKeeper one = keeper(temp_.path() + "/a");
  const Result<bool> looked = one.look(kNow);
  ASSERT_TRUE(looked) << looked.error().message();
  EXPECT_TRUE(*looked);
  EXPECT_TRUE(one.trusted());
  EXPECT_TRUE(one.has_configurations());
  EXPECT_EQ(bundle(), secret("ca.crt"));
  EXPECT_EQ(*read_whole_file(temp_.path() + "/a/tls.crt"), secret("tls.crt"));
  EXPECT_EQ(*read_whole_file(temp_.path() + "/a/tls.key"), secret("tls.key"));
  const int patches = cluster_.patches;
  EXPECT_FALSE(*one.look(kNow + 3'600)) << "nothing is due";
  EXPECT_EQ(cluster_.patches, patches);
  // Another replica takes what is there.
  CertificateKeeper two = keeper(temp_.path() + "/b");
  EXPECT_TRUE(*two.look(kNow + 10));
  EXPECT_EQ(*read_whole_file(temp_.path() + "/b/tls.crt"), secret("tls.crt"));
}

TEST_F(Keeper, FillsASecretThatIsEmpty) {
  // The right to create Secrets cannot be bound to a name; the manifests bring an empty one.
  cluster_.put_text(
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"secret","namespace":"kubeflow","labels":{"a":"b"}}})");
  CertificateKeeper one = keeper(temp_.path());
  const Result<bool> looked = one.look(kNow);
  ASSERT_TRUE(looked) << looked.error().message();
  EXPECT_TRUE(one.trusted());
  EXPECT_EQ(bundle(), secret("ca.crt"));
  EXPECT_EQ(cluster_.object({"v1", "Secret", "kubeflow", "secret"})["metadata"]["labels"]["a"], "b");
}

TEST_F(Keeper, RenewsNinetyDaysAhead) {
  CertificateKeeper one = keeper(temp_.path());
  ASSERT_TRUE(one.look(kNow));
  const std::string old = secret("tls.crt"), ca = secret("ca.crt");
  EXPECT_FALSE(*one.look(kNow + 274 * kDaySeconds));
  EXPECT_TRUE(*one.look(kNow + 276 * kDaySeconds));
  EXPECT_NE(secret("tls.crt"), old);
  EXPECT_EQ(secret("ca.crt"), ca) << "the same CA: no caBundle has to change";
  EXPECT_EQ(one.not_after_s(), kNow + (276 + 365) * kDaySeconds);
}

TEST_F(Keeper, NewCaBesideTheOldOne) {
  CertificateKeeper one = keeper(temp_.path());
  ASSERT_TRUE(one.look(kNow));
  const std::string old_ca = secret("ca.crt");
  const int64_t late = kNow + (3650 - 300) * kDaySeconds;
  ASSERT_TRUE(one.look(late));
  EXPECT_EQ(split_bundle(bundle()).size(), 2u) << "both, while certificates of both may be served";
  EXPECT_NE(bundle().find(old_ca), std::string::npos);
  EXPECT_TRUE(is_trusted(secret("tls.crt"), split_bundle(secret("ca.crt"))[0], late));
  ASSERT_TRUE(one.look(late + 2 * kDaySeconds));
  EXPECT_EQ(split_bundle(bundle()).size(), 1u);
  EXPECT_EQ(bundle().find(old_ca), std::string::npos);
  EXPECT_TRUE(one.trusted());
}

TEST_F(Keeper, ACertificateOfANewCaWaitsForTheCaBundle) {
  CertificateKeeper one = keeper(temp_.path());
  ASSERT_TRUE(one.look(kNow));
  const std::string served = secret("tls.crt");
  cluster_.failing_kinds = {"MutatingWebhookConfiguration"};
  EXPECT_FALSE(one.look(kNow + (3650 - 300) * kDaySeconds));
  EXPECT_EQ(secret("tls.crt"), served);
  EXPECT_EQ(split_bundle(secret("ca.crt")).size(), 2u);
}

// The machine's clock ran a year ahead when everything was made.
TEST_F(Keeper, ACaOfLaterIsOfNoUseNow) {
  CertificateKeeper one = keeper(temp_.path());
  ASSERT_TRUE(one.look(kNow + 400 * kDaySeconds));
  ASSERT_TRUE(one.look(kNow));
  EXPECT_TRUE(one.trusted());
  EXPECT_TRUE(is_trusted(secret("tls.crt"), bundle(), kNow));
  const std::string served = secret("tls.crt");
  EXPECT_FALSE(*one.look(kNow + kDaySeconds / 2)) << "nothing is due";
  EXPECT_EQ(secret("tls.crt"), served);
  ASSERT_TRUE(one.look(kNow + 2 * kDaySeconds));
  EXPECT_EQ(split_bundle(bundle()).size(), 1u) << "the useless one goes";
}

TEST(LookTimes, AppointedOrWhenTheClockWasSet) {
  LookTimes looks;
  constexpr int64_t kHour = 3'600 * kNsPerSec;
  EXPECT_TRUE(looks.due(1, kNow * kNsPerSec));
  looks.looked(1'000, kNow * kNsPerSec, 12 * kHour);
  EXPECT_FALSE(looks.due(1'000 + 11 * kHour, kNow * kNsPerSec + 11 * kHour));
  EXPECT_TRUE(looks.due(1'000 + 12 * kHour, kNow * kNsPerSec + 12 * kHour));
  EXPECT_TRUE(looks.due(1'000 + kHour, kNow * kNsPerSec - 24 * kHour)) << "back a day";
  EXPECT_TRUE(looks.due(1'000 + kHour, kNow * kNsPerSec + 2 * kHour)) << "ahead an hour";
  EXPECT_FALSE(looks.due(1'000 + kHour, kNow * kNsPerSec + kHour + kNsPerSec)) << "slewed";
}

TEST_F(Keeper, OneReplicaWins) {
  CertificateKeeper one = keeper(temp_.path() + "/a"), two = keeper(temp_.path() + "/b");
  ASSERT_TRUE(one.look(kNow));
  const int64_t due = kNow + 300 * kDaySeconds;
  cluster_.before_write = [&] { ASSERT_TRUE(two.look(due)); };
  ASSERT_TRUE(one.look(due));
  EXPECT_EQ(*read_whole_file(temp_.path() + "/a/tls.crt"), *read_whole_file(temp_.path() + "/b/tls.crt"));
}

TEST_F(Keeper, NewNames) {
  ASSERT_TRUE(keeper(temp_.path()).look(kNow));
  CertificateKeeper more(cluster_, {"kubeflow", "secret", {"tacho.kubeflow.svc", "10.0.0.1"}, {"tacho"}, temp_.path()});
  EXPECT_TRUE(*more.look(kNow));
  EXPECT_EQ(read_certificate(secret("tls.crt"))->names.size(), 2u);
}

}  // namespace
}  // namespace tacho
