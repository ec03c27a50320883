// Amazon's partitions, each a world of its own: China, the governments', Europe's sovereign one. Pure, thread-safe.
#pragma once
#include <string_view>

namespace tacho {

// The domain under which a region's services are: eu-west-1 → amazonaws.com, cn-north-1 → amazonaws.com.cn.
std::string_view aws_domain(std::string_view region);

// The region whose STS knows the roles of a partition, by a role's name: arn:aws-cn:iam::… → cn-northwest-1. Empty for
// the public partition, whose STS has an address without a region, and for any other text.
std::string_view aws_home_region(std::string_view arn);

}  // namespace tacho
