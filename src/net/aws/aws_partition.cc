#include "net/aws/aws_partition.h"

#include <array>

namespace tacho {
namespace {

struct Partition {
  std::string_view arn_prefix, region_prefix, domain, home_region;
};
constexpr auto kPartitions = std::to_array<Partition>({
    {"arn:aws-cn:", "cn-", "amazonaws.com.cn", "cn-northwest-1"},
    {"arn:aws-us-gov:", "us-gov-", "amazonaws.com", "us-gov-west-1"},
    {"arn:aws-iso:", "us-iso-", "c2s.ic.gov", "us-iso-east-1"},
    {"arn:aws-iso-b:", "us-isob-", "sc2s.sgov.gov", "us-isob-east-1"},
    {"arn:aws-iso-e:", "eu-isoe-", "cloud.adc-e.uk", "eu-isoe-west-1"},
    {"arn:aws-iso-f:", "us-isof-", "csp.hci.ic.gov", "us-isof-south-1"},
    {"arn:aws-eusc:", "eusc-", "amazonaws.eu", "eusc-de-east-1"},
});

}  // namespace

std::string_view aws_domain(std::string_view region) {
  for (const Partition& partition : kPartitions)
    if (region.starts_with(partition.region_prefix)) return partition.domain;
  return "amazonaws.com";
}

std::string_view aws_home_region(std::string_view arn) {
  for (const Partition& partition : kPartitions)
    if (arn.starts_with(partition.arn_prefix)) return partition.home_region;
  return {};
}

}  // namespace tacho
