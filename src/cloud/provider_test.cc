// The providers as they are: questions out, replies in, no network. The replies are in the shapes of the real services.
#include "cloud/provider.h"

#include <gtest/gtest.h>

#include <map>

#include "cloud/table.h"
#include "cloud/values.h"

namespace tacho {
namespace {

HttpReply answer(std::string body, int status = 200, Headers headers = {}) {
  HttpReply reply;
  reply.response.status = status;
  reply.response.headers = std::move(headers);
  reply.response.body = std::move(body);
  return reply;
}

HttpReply failed(HttpFailure failure) {
  HttpReply reply;
  reply.failure = failure;
  return reply;
}

// A service: replies by "METHOD path"; 404 for the rest.
struct Fake {
  std::map<std::string, HttpReply> replies;
  std::vector<std::string> asked;
  std::vector<Headers> headers;

  Found play(std::string_view vendor, const ProviderContext& context = {}) {
    Found found;
    CloudStep step = find_vendor(vendor)->first(context, found);
    for (int rounds = 0; !step.questions.empty() && rounds < 20; ++rounds) {
      Replies now;
      for (const Question& question : step.questions) {
        const std::string key = question.method + " " + question.path;
        asked.push_back(key);
        headers.push_back(question.headers);
        const auto known = replies.find(key);
        now.push_back(known == replies.end() ? answer("not found", 404) : known->second);
      }
      const auto then = step.then;
      step = then(now);
    }
    return found;
  }
};

const Headers kGoogle{{"metadata-flavor", "Google"}};

TEST(Aws, DocumentBehindAToken) {
  Fake fake{{{"PUT /latest/api/token", answer("TOKEN==\n")},
             {"GET /latest/meta-data/services/domain", answer("amazonaws.com.cn\n")},
             {"GET /latest/dynamic/instance-identity/document",
              answer(R"({"accountId" : "123456789012", "region" : "cn-north-1", "availabilityZone" : "cn-north-1a",
                         "instanceType" : "unknown", "instanceId" : "i-0abc", "ramdiskId" : null})")}},
            {},
            {}};
  const Found found = fake.play("aws");
  EXPECT_TRUE(found.identified);
  EXPECT_EQ(found.values, (Cloud{{}, "123456789012", "cn-north-1", "cn-north-1a", {}, "i-0abc"}));
  ASSERT_EQ(fake.asked.size(), 3u);
  EXPECT_EQ(fake.headers[0], (Headers{{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}));
  EXPECT_EQ(fake.headers[2], (Headers{{"X-aws-ec2-metadata-token", "TOKEN=="}}));
}

TEST(Aws, AnotherDomainIsAnotherCloud) {
  Fake fake{{{"PUT /latest/api/token", answer("TOKEN")},
             {"GET /latest/meta-data/services/domain", answer("amazonaws.com.example.org")},
             {"GET /latest/dynamic/instance-identity/document", answer(R"({"region": "x"})")}},
            {},
            {}};
  EXPECT_FALSE(fake.play("aws").identified);
  EXPECT_EQ(fake.asked.size(), 2u);  // nothing is asked of a stranger
}

TEST(Aws, Version1AfterALostToken) {
  Fake fake{{{"PUT /latest/api/token", failed(HttpFailure::timeout)},
             {"GET /latest/meta-data/", answer("ami-id\ninstance-id\n")},
             {"GET /latest/meta-data/services/domain", answer("amazonaws.com")},
             {"GET /latest/meta-data/placement/availability-zone", answer("us-east-1a")},
             {"GET /latest/meta-data/identity-credentials/ec2/info", answer("{\n  \"AccountId\" : \"42\"\n}")}},
            {},
            {}};
  const Found found = fake.play("aws");
  EXPECT_TRUE(found.identified);
  EXPECT_EQ(found.values, (Cloud{{}, "42", {}, "us-east-1a", {}, {}}));
  for (const Headers& headers : fake.headers)
    for (const auto& [name, value] : headers) EXPECT_NE(name, "X-aws-ec2-metadata-token");
}

TEST(Aws, NobodyThereMeansNoMoreQuestions) {
  for (const HttpFailure failure : {HttpFailure::unreachable, HttpFailure::connect_timeout}) {
    Fake fake{{{"PUT /latest/api/token", failed(failure)}}, {}, {}};
    EXPECT_FALSE(fake.play("aws").identified);
    EXPECT_EQ(fake.asked.size(), 1u);
  }
}

TEST(Aws, TaskOfEcsWhereThereIsNoInstanceService) {
  const std::string url = "http://169.254.170.2/v4/x/task";
  const auto task = [&](const std::string& body) {
    Fake fake{{{"PUT /latest/api/token", failed(HttpFailure::unreachable)}, {"GET " + url, answer(body)}}, {}, {}};
    return fake.play("aws", {false, true, url});
  };
  const Found found =
      task(R"({"TaskARN": "arn:aws:ecs:us-west-2:111122223333:task/default/1", "AvailabilityZone": "us-west-2d"})");
  EXPECT_TRUE(found.identified);
  EXPECT_EQ(found.values, (Cloud{{}, "111122223333", "us-west-2", "us-west-2d", {}, {}}));
  EXPECT_EQ(task(R"({"TaskARN": "arn:aws-cn:ecs:cn-north-1:1:task/x"})").values.region_id, "cn-north-1");
  // On somebody's own machine, of no task, and of nothing.
  EXPECT_FALSE(task(R"({"TaskARN": "arn:aws:ecs:us-west-2:1:task/x", "LaunchType": "EXTERNAL"})").identified);
  EXPECT_FALSE(task(R"({"TaskARN": "arn:aws:s3:::x"})").identified);
  EXPECT_FALSE(task("[]").identified);
}

TEST(Gcp, ComponentsOfPaths) {
  Fake fake{{{"GET /computeMetadata/v1/instance/machine-type",
              answer("projects/1/machineTypes/n2-custom-2-4096", 200, kGoogle)},
             {"GET /computeMetadata/v1/instance/zone", answer("projects/1/zones/us-central1-f", 200, kGoogle)},
             {"GET /computeMetadata/v1/project/project-id", answer("<html>", 200, kGoogle)},
             {"GET /computeMetadata/v1/instance/id", answer("77", 200, kGoogle)}},
            {},
            {}};
  const Found found = fake.play("gcp");
  EXPECT_TRUE(found.identified);
  EXPECT_EQ(found.values, (Cloud{{}, {}, "us-central1", "us-central1-f", "n2-custom-2-4096", "77"}));
  for (const Headers& headers : fake.headers) EXPECT_EQ(headers, (Headers{{"Metadata-Flavor", "Google"}}));
}

TEST(Gcp, NeedsTheFlavorAndTheShape) {
  Fake plain{{{"GET /computeMetadata/v1/instance/machine-type", answer("projects/1/machineTypes/e2-micro")}}, {}, {}};
  EXPECT_FALSE(plain.play("gcp").identified);
  Fake page{{{"GET /computeMetadata/v1/instance/machine-type", answer("<html>", 200, kGoogle)},
             {"GET /computeMetadata/v1/instance/zone", answer("<html>", 200, kGoogle)}},
            {},
            {}};
  EXPECT_FALSE(page.play("gcp").identified);
}

TEST(Azure, PlaceWithoutBlanksAndEmptyZone) {
  Fake fake{
      {{"GET /metadata/instance?api-version=2021-02-01",
        answer(
            R"({"compute": {"location": "West Europe", "zone": "", "vmSize": "Standard_B1s", "subscriptionId": "s"}})")}},
      {},
      {}};
  const Found found = fake.play("azure");
  EXPECT_TRUE(found.identified);
  EXPECT_EQ(found.values, (Cloud{{}, "s", "westeurope", {}, "Standard_B1s", {}}));
  for (const char* body :
       {R"({"compute": {"location": "x", "vmId": ""}})", R"({"compute": []})", R"({"vmId": "1"})", "[", ""}) {
    Fake other{{{"GET /metadata/instance?api-version=2021-02-01", answer(body)}}, {}, {}};
    EXPECT_FALSE(other.play("azure").identified) << body;
  }
}

TEST(Hcloud, UnindentedKeysOnly) {
  const auto play = [](const std::string& body, Headers headers = {}) {
    Fake fake{{{"GET /hetzner/v1/metadata", answer(body, 200, std::move(headers))}}, {}, {}};
    return fake.play("hcloud");
  };
  const Found found =
      play("network-config:\n  region: inner\n  instance-id: 1\ninstance-id: 42\r\nregion: 'eu-central'\n");
  EXPECT_TRUE(found.identified);
  EXPECT_EQ(found.values, (Cloud{{}, {}, "eu-central", {}, {}, "42"}));
  EXPECT_FALSE(play("instance-id: 42\n  region: inner\n").identified);
  EXPECT_FALSE(play("region: eu-central\navailability-zone: fsn1-dc14\n").identified);
  EXPECT_FALSE(play("instance-id: 42\nregion: x\n", {{"content-type", "text/html; charset=utf-8"}}).identified);
  EXPECT_FALSE(play("<p>\ninstance-id: 42\nregion: x\n").identified);
}

TEST(Vultr, EitherIdAndAPlace) {
  const auto play = [](const std::string& body) {
    Fake fake{{{"GET /v1.json", answer(body)}}, {}, {}};
    return fake.play("vultr");
  };
  EXPECT_EQ(play(R"({"instanceid": "5", "region": {"regioncode": "EWR"}})").values,
            (Cloud{{}, {}, "ewr", "ewr", {}, "5"}));
  EXPECT_EQ(play(R"({"instanceid": "5", "instance-v2-id": "u", "region": {}})").values.instance_id, "u");
  EXPECT_FALSE(play(R"({"instanceid": "5", "region": "EWR"})").identified);
  EXPECT_FALSE(play(R"({"region": {"regioncode": "EWR"}})").identified);
}

TEST(Alicloud, WithoutTheFirmwaresWordTheTypeMustFit) {
  const auto play = [](const std::string& region, const std::string& type, bool dmi_match) {
    Fake fake{{{"PUT /latest/api/token", answer("", 403)},
               {"GET /latest/meta-data/region-id", answer(region)},
               {"GET /latest/meta-data/instance/instance-type", answer(type)},
               {"GET /latest/meta-data/zone-id", answer("eu-central-1a")}},
              {},
              {}};
    return fake.play("alicloud", {dmi_match, true, ""});
  };
  EXPECT_EQ(play("eu-central-1", "ecs.g6.large", false).values,
            (Cloud{{}, {}, "eu-central-1", "eu-central-1a", "ecs.g6.large", {}}));
  EXPECT_TRUE(play("eu-central-1", "ecs.g6.large", false).identified);
  EXPECT_FALSE(play("eu-central-1", "t3.nano", false).identified);
  EXPECT_TRUE(play("eu-central-1", "", true).identified);
  for (const char* region : {"", "EU-central", "e-x", "eu_central", "eu-", "eu-central 1", "<html>"})
    EXPECT_FALSE(play(region, "ecs.g6.large", true).identified) << region;
}

TEST(Ovh, AnyOfTheNameServers) {
  const auto play = [](const std::string& zone) {
    Fake fake{
        {{"GET /openstack/latest/network_data.json",
          answer(
              R"({"services": [3, {"type": "dns", "address": "1.1.1.1"}, {"type": "dns", "address": "213.186.33.99"}]})")},
         {"GET /openstack/latest/meta_data.json",
          answer(R"({"availability_zone": ")" + zone + R"(", "project_id": "p", "uuid": "u"})")},
         {"GET /latest/meta-data/instance-type", answer("b3-8")}},
        {},
        {}};
    return fake.play("ovh").values;
  };
  EXPECT_EQ(play("eu-west-par-a"), (Cloud{{}, "p", "EU-WEST-PAR", "eu-west-par-a", "b3-8", "u"}));
  EXPECT_EQ(play("GRA11"), (Cloud{{}, "p", "GRA11", "GRA11", "b3-8", "u"}));
  EXPECT_EQ(play("nova"), (Cloud{{}, "p", {}, {}, "b3-8", "u"}));
  EXPECT_EQ(play("eu-west-par-12").region_id, "eu-west-par-12");
  const char* const clock = R"({"services": [{"type": "ntp", "address": "213.186.33.99"}]})";
  Fake other{{{"GET /openstack/latest/network_data.json", answer(clock)}}, {}, {}};
  EXPECT_FALSE(other.play("ovh").identified);
  EXPECT_EQ(other.asked.size(), 1u);
}

TEST(OnePath, UpCloudAndDigitalOceanAreToldApart) {
  const char* const document = R"({"cloud_name": "upcloud", "droplet_id": 1, "region": "fi-hel1", "instance_id": "u"})";
  Fake up{{{"GET /metadata/v1.json", answer(document)}}, {}, {}};
  Fake ocean{{{"GET /metadata/v1.json", answer(R"({"droplet_id": 12, "region": "nyc3"})")}}, {}, {}};
  EXPECT_EQ(up.play("upcloud").values, (Cloud{{}, {}, "fi-hel1", "fi-hel1", {}, "u"}));
  EXPECT_FALSE(up.play("digitalocean").identified);
  EXPECT_EQ(ocean.play("digitalocean").values, (Cloud{{}, {}, "nyc3", {}, {}, "12"}));
  EXPECT_FALSE(ocean.play("upcloud").identified);
}

TEST(Exoscale, ZonesOfItsOwn) {
  const auto play = [](const std::string& zone, const std::string& type) {
    Fake fake{{{"GET /latest/meta-data/availability-zone", answer(zone)},
               {"GET /latest/meta-data/service-offering", answer(type, type.empty() ? 404 : 200)},
               {"GET /latest/meta-data/instance-id", answer("u")}},
              {},
              {}};
    return fake.play("exoscale");
  };
  EXPECT_EQ(play("at-vie-1", "Medium").values, (Cloud{{}, {}, "at-vie-1", "at-vie-1", "Medium", "u"}));
  EXPECT_FALSE(play("at-vie-1", "").identified);
  EXPECT_FALSE(play("us-east-1a", "Medium").identified);
}

TEST(Values, WhatMayBeSent) {
  EXPECT_EQ(clean("  eu-west-1\r\n"), "eu-west-1");
  EXPECT_EQ(clean("EMIr:AD 1"), "EMIr:AD 1");
  for (const std::string& text :
       {std::string(""), std::string(" \n"), std::string("Unknown"), std::string("a\nb"), std::string("<b>"),
        std::string("a\0b", 3), std::string("\xff"), std::string("\xc3\xa4"), std::string(257, 'x')})
    EXPECT_FALSE(clean(text)) << text;
}

TEST(Values, TokensFitIntoAHeader) {
  EXPECT_EQ(token_of(answer("AQAEA-x_/+==\n")), "AQAEA-x_/+==");
  for (const char* text : {"", "two words", "a\r\nX-Evil: 1", "<html>", "\x7f"})
    EXPECT_FALSE(token_of(answer(text))) << text;
  EXPECT_FALSE(token_of(answer("token", 403)));
  EXPECT_FALSE(token_of(answer(std::string(5000, 'x'))));
}

TEST(Values, OnlyObjectsAndOnlyScalars) {
  EXPECT_TRUE(object_of(answer(std::string(60'000, '['))).is_null());
  EXPECT_TRUE(object_of(answer("{}", 500)).is_null());
  EXPECT_TRUE(object_of(failed(HttpFailure::timeout)).is_null());
  const Json json = object_of(answer(R"({"a": 18446744073709551615, "b": 1.5, "c": null, "d": ["x"], "e": true})"));
  EXPECT_EQ(text_at(json, "a"), "18446744073709551615");
  for (const char* key : {"b", "c", "d", "e", "f"}) EXPECT_FALSE(text_at(json, key)) << key;
}

// Whatever a service answers to everything, and with whatever status: nobody is identified by it.
TEST(AllVendors, AnswersToEverythingProveNothing) {
  const std::vector<HttpReply> same = {answer(""),
                                       answer("ok"),
                                       answer("{}"),
                                       answer("[]"),
                                       answer("null"),
                                       answer("<html><body>instance-id: 1\nregion: x</body></html>"),
                                       answer("unknown"),
                                       answer("ok", 200, kGoogle),
                                       answer("{}", 403),
                                       answer("amazonaws.com", 404),
                                       failed(HttpFailure::timeout),
                                       failed(HttpFailure::reset),
                                       failed(HttpFailure::refused)};
  for (const Vendor& vendor : all_vendors())
    for (const HttpReply& reply : same) {
      Found found;
      CloudStep step = vendor.first({}, found);
      int rounds = 0;
      for (; !step.questions.empty() && rounds < 10; ++rounds) {
        const auto then = step.then;
        step = then(Replies(step.questions.size(), reply));
      }
      EXPECT_FALSE(found.identified) << vendor.id << ": " << reply.response.body;
      EXPECT_LT(rounds, 6) << vendor.id;
    }
}

TEST(Scaleway, ZoneStandsBesideOrInsideTheLocation) {
  const std::string rest = R"("id":"s1","commercial_type":"DEV1-S","organization":"org","tags":[],"timezone":"UTC",)";
  for (const char* const place :
       {R"("location":{"cluster_id":"51","node_id":"14","zone_id":"fr-par-1"})",
        R"("zone":"fr-par-1","location":{"zone_id":"other"})", R"("zone":"fr-par-1","location":null)"}) {
    Fake fake{{{"GET /conf?format=json", answer("{" + rest + place + "}")}}, {}, {}};
    EXPECT_EQ(fake.play("scaleway").values, (Cloud{{}, "org", "fr-par", "fr-par-1", "DEV1-S", "s1"})) << place;
  }
}

}  // namespace
}  // namespace tacho
