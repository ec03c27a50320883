// Amazon EC2: http://169.254.169.254, IMDSv2 with a session token, then v1; where there is none, the task metadata of
// ECS and Fargate. Many clouds imitate the paths, only Amazon answers its own name under services/domain.
#include "base/text.h"
#include "cloud/provider.h"
#include "cloud/values.h"
#include "net/http/aws_metadata_place.h"

namespace tacho {
namespace {

// Shared by all steps of one probe.
struct Aws {
  Found& found;
  std::string ecs_task_url;
  Headers token;

  Question ask(std::string path) const { return get(std::move(path), token); }
};

// {"TaskARN": "arn:aws:ecs:us-east-1:123456789012:task/default/0123…", "AvailabilityZone": "us-east-1a", "LaunchType":
// "FARGATE"}
CloudStep read_task(const Aws& aws, const HttpReply& reply) {
  const Json task = object_of(reply);
  const std::string arn = text_at(task, "TaskARN").value_or("");
  const std::vector<std::string_view> parts = split(arn, ':');
  if (parts.size() < 6 || parts[0] != "arn" || !parts[1].starts_with("aws") || parts[2] != "ecs") return end();
  // ECS Anywhere: the agent runs on somebody's own machine.
  if (text_at(task, "LaunchType") == "EXTERNAL") return end();
  Cloud& values = aws.found.values;
  aws.found.identified = true;
  values.account_id = clean(parts[4]);
  values.zone_id = text_at(task, "AvailabilityZone");
  if (values.zone_id) values.region_id = clean(std::string_view(*values.zone_id).substr(0, values.zone_id->size() - 1));
  else values.region_id = clean(parts[3]);
  return end();
}

CloudStep ask_task(Aws aws) {
  if (aws.ecs_task_url.empty()) return end();
  return {{get(aws.ecs_task_url)}, [aws](const Replies& replies) { return read_task(aws, replies[0]); }};
}

CloudStep ask_single_values(const Aws& aws) {
  return {{aws.ask("/latest/meta-data/placement/region"), aws.ask("/latest/meta-data/placement/availability-zone"),
           aws.ask("/latest/meta-data/instance-type"), aws.ask("/latest/meta-data/instance-id"),
           aws.ask("/latest/meta-data/identity-credentials/ec2/info")},
          [aws](const Replies& replies) {
            Cloud& values = aws.found.values;
            values.region_id = text_of(replies[0]);
            values.zone_id = text_of(replies[1]);
            values.instance_type = text_of(replies[2]);
            values.instance_id = text_of(replies[3]);
            // {"Code" : "Success", "LastUpdated" : "…", "AccountId" : "123456789012"}
            values.account_id = text_at(object_of(replies[4]), "AccountId");
            return end();
          }};
}

CloudStep ask_document(const Aws& aws) {
  return {{aws.ask("/latest/dynamic/instance-identity/document")}, [aws](const Replies& replies) {
            const Json document = object_of(replies[0]);
            if (document.is_null()) return ask_single_values(aws);
            aws.found.values = {{},
                                text_at(document, "accountId"),
                                text_at(document, "region"),
                                text_at(document, "availabilityZone"),
                                text_at(document, "instanceType"),
                                text_at(document, "instanceId")};
            return end();
          }};
}

CloudStep identify(const Aws& aws) {
  return {{aws.ask("/latest/meta-data/services/domain")}, [aws](const Replies& replies) {
            const Text domain = text_of(replies[0]);
            if (domain != "amazonaws.com" && domain != "amazonaws.com.cn") return ask_task(aws);
            aws.found.identified = true;
            return ask_document(aws);
          }};
}

// The default hop limit of 1 swallows the token's answer in a container: version 1 needs none.
CloudStep try_version_1(const Aws& aws) {
  return {{aws.ask("/latest/meta-data/")},
          [aws](const Replies& replies) { return replies[0].ok() ? identify(aws) : ask_task(aws); }};
}

}  // namespace

static CloudStep ask_aws(const ProviderContext& context, Found& found) {
  Aws aws{found, context.ecs_task_url, {}};
  if (!context.ask_imds) return ask_task(aws);
  return {{put("/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}})},
          [aws](const Replies& replies) mutable {
            const HttpFailure failure = replies[0].failure;
            if (failure == HttpFailure::unreachable || failure == HttpFailure::connect_timeout) return ask_task(aws);
            const Text token = token_of(replies[0]);
            if (!token) return try_version_1(aws);
            aws.token = {{"X-aws-ec2-metadata-token", *token}};
            return identify(aws);
          }};
}

namespace {

bool starts_with_ec2(const std::string& uuid) { return lower(uuid).starts_with("ec2"); }

bool is_aws(const Dmi& dmi) {
  return dmi.sys_vendor == "Amazon EC2" || lower(dmi.bios_version).find("amazon") != std::string::npos ||
         starts_with_ec2(dmi.product_uuid) || starts_with_ec2(dmi.hypervisor_uuid);
}

}  // namespace

extern const Vendor kAws;
const Vendor kAws{"aws", true, "TACHO_IMDS_AWS_URL", ask_aws, is_aws, kLinkLocal, kAwsMetadataIpv6};

}  // namespace tacho
