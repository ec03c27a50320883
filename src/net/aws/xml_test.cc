#include "net/aws/xml.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Xml, FindsTheTextOfAnElement) {
  constexpr const char* kError =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>a &lt;b&gt; &amp; &#39;c&#39; "
      "&bad;</Message>"
      "<CodeX>no</CodeX><Empty/><Empty2></Empty2><Outer a=\"1\"><Inner x=\"y\"> 7 </Inner></Outer></Error>";
  EXPECT_EQ(xml_text(kError, "Code"), "SlowDown");
  EXPECT_EQ(xml_text(kError, "Message"), "a <b> & 'c' &bad;");
  EXPECT_EQ(xml_text(kError, "Inner"), "7");
  for (const char* none : {"Outer", "Empty", "Empty2", "Absent", "Cod"}) EXPECT_EQ(xml_text(kError, none), "") << none;
  for (const char* broken :
       {"", "<", "<Code", "<Code>", "<Code>x", "<Code>x<", "<Code>x</", "<Code>x</Cod", "Code", "<Code>x</Other>"}) {
    EXPECT_EQ(xml_text(broken, "Code"), "") << broken;
  }
}

}  // namespace
}  // namespace tacho
