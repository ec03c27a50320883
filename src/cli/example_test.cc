// The example configuration that is installed: every line of it, the # taken away, is accepted.
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/config.h"
#include "os/file.h"

namespace tacho {
namespace {

TEST(ExampleConfiguration, EveryKeyIsKnown) {
  const auto text = read_whole_file(TACHO_FIXTURES "/../../packaging/tacho.toml");
  ASSERT_TRUE(text);
  std::string active;
  int keys = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const bool commented_key = line.starts_with('#') && !line.starts_with("# ");
    keys += commented_key && line.find('=') != std::string_view::npos ? 1 : 0;
    (active += commented_key ? line.substr(1) : line) += '\n';
  }
  const auto values = parse_config(active, "tacho.toml", ConfigRules::strict);
  ASSERT_TRUE(values) << values.error().message();
  EXPECT_EQ(values->size(), static_cast<size_t>(keys));
}

}  // namespace
}  // namespace tacho
