#include "cli/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/log.h"

namespace tacho {
namespace {

struct Ears {
  Ears() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_NONBLOCK), 0);
    ear = Fd(ends[0]);
    number = std::to_string(ends[1]);
    mouth = ends[1];
  }
  std::string heard() const {
    char buffer[4096];
    const ssize_t got = ::read(ear.get(), buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
  }
  Fd ear;
  std::string number;
  int mouth;
};

TEST(Listener, HearsWhyALineIsRefused) {
  const Ears ears;
  const std::vector<std::string> line{"--nonsense", "--begun-fd=" + ears.number, "--", "true"};
  Listener listener(line);
  ASSERT_TRUE(listener);
  log::error("unknown option --nonsense");
  listener.refused();
  EXPECT_EQ(ears.heard(), "{\"error\":\"unknown option --nonsense\"}\n");
  EXPECT_FALSE(listener);
  listener.not_recorded();  // nobody is told twice
  EXPECT_EQ(ears.heard(), "");
}

TEST(Listener, HearsWhatIsNotRecordedAndWarnings) {
  const Ears first, second;
  const std::vector<std::string> line{"--begun-fd", first.number, "--", "true"};
  Listener(line).not_recorded();
  EXPECT_EQ(first.heard(), "{\"id\":null,\"folder\":null}\n");
  const std::vector<std::string> other{"--begun-fd=" + second.number, "true"};
  Listener listener(other);
  log::error("not kept");
  tacho::Run run;
  run.id = "x";
  listener.begun(run, "");
  const std::string heard = second.heard();
  EXPECT_TRUE(heard.starts_with("{\"id\":\"x\",\"folder\":null,")) << heard;
  EXPECT_TRUE(heard.ends_with("\"warnings\":\"not kept\"}\n")) << heard;
}

TEST(Listener, WordsOfTheCommandAreItsOwn) {
  const Ears ears;
  const std::string word = "--begun-fd=" + ears.number;
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--", "x", word},
                                               {"x", word},
                                               {"--nonsense", "x", word},
                                               {"--nonsense", "--", "x", word},
                                               {"--begun-fd=1", "--", "x"},
                                               {"--begun-fd=x"}}) {
    Listener listener(line);
    EXPECT_FALSE(listener);
    listener.refused();
  }
  EXPECT_EQ(ears.heard(), "");
  ::close(ears.mouth);
}

}  // namespace
}  // namespace tacho
