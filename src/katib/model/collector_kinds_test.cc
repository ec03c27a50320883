// The table of collector kinds, and what must say the same: the documents for users, and the image.
#include "katib/model/collector_kinds.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"

namespace tacho {
namespace {

std::string repository_text(const std::string& name) {
  std::ifstream file(std::filesystem::path(TACHO_FIXTURES).parent_path().parent_path() / name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

TEST(CollectorKinds, AnyCaseAndTheProposalsNames) {
  const auto name = [](std::string_view text) {
    const CollectorKind* kind = find_collector_kind(text);
    return kind == nullptr ? "" : kind->name;
  };
  for (const auto& [text, expected] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"StdOut", "StdOut"},
           {"STDOUT", "StdOut"},
           {"stdOutCollector", "StdOut"},
           {"File", "File"},
           {"fileCollector", "File"},
           {"TensorFlowEvent", "TensorFlowEvent"},
           {"tfEventCollector", "TensorFlowEvent"},
           {"tensorFlowEventCollector", "TensorFlowEvent"},
           {"PrometheusMetric", "PrometheusMetric"},
           {"prometheusMetricCollector", "PrometheusMetric"},
           {"Custom", "Custom"},
           {"customCollector", "Custom"},
           {"Push", "Push"},
           {"None", "Push"},
           {"noneCollector", "Push"},
           {" File\n", "File"},
           {"", ""},
           {" ", ""},
           {"std", ""},
           {"Files", ""},
           {"File\0", "File"}})
    EXPECT_EQ(name(text), expected) << text;
  EXPECT_EQ(name(std::string_view("File\0", 5)), "");
}

TEST(CollectorKinds, NoTwoShareAWord) {
  std::set<std::string> words;
  for (const CollectorKind& kind : collector_kinds()) {
    EXPECT_TRUE(words.insert(lower(kind.name)).second) << kind.name;
    for (const std::string_view spelling : kind.spellings) {
      EXPECT_EQ(lower(spelling), spelling) << "compared in lower case";
      if (!spelling.empty()) { EXPECT_TRUE(words.insert(std::string(spelling)).second) << spelling; }
    }
    EXPECT_EQ(kind.is_ours(), !kind.container.empty()) << kind.name << ": a sidecar of ours has a name";
    EXPECT_EQ(kind.is_ours(), !kind.path.empty()) << kind.name << ": and a folder for its markers";
  }
}

TEST(CollectorKinds, TheDocumentsSayTheSame) {
  const std::string page = repository_text("docs/katib-collector.md");
  for (const CollectorKind& kind : collector_kinds()) {
    const std::string head = "| `" + std::string(kind.name) + "`";
    const std::string rest =
        " | " + std::string(kind.reads) + " | " + std::string(kind.flags) + (kind.flags.empty() ? "" : " ") + "|";
    const size_t at = page.find("\n" + head);
    ASSERT_NE(at, std::string::npos) << "docs/katib-collector.md lacks the line\n" << head << rest;
    const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    EXPECT_TRUE(line.ends_with(rest)) << line << "\nis not\n" << head << rest;
  }
  const std::string cluster = repository_text("docs/kubernetes.md");
  for (const CollectorKind& kind : collector_kinds())
    EXPECT_EQ(cluster.find("- {kind: " + std::string(kind.name) + ", image:") != std::string::npos, kind.is_ours())
        << "katib-config of docs/kubernetes.md, " << kind.name;
}

TEST(CollectorKinds, TheImageHasTheNamesOfTheOlderCollectors) {
  const std::string image = repository_text("packaging/katib/Dockerfile");
  for (const CollectorKind& kind : collector_kinds()) {
    if (!kind.program.empty()) {
      EXPECT_NE(image.find("ln -s tacho-katib /rootfs/usr/bin/" + std::string(kind.program)), std::string::npos)
          << kind.program;
    }
  }
}

}  // namespace
}  // namespace tacho
