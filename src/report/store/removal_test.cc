#include "report/store/removal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/line_file.h"
#include "report/store/newest.h"
#include "report/store/notes.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class Removal : public testing::Test {
 protected:
  // A finished run with its files.
  std::string put(const std::string& id, const std::string& started = "2026-11-15T09:30:00.250Z",
                  const std::string& job = "train") {
    const std::string folder = dir_ / id;
    std::filesystem::create_directory(folder);
    ::chmod(folder.c_str(), 0700);
    spill(folder + "/run.json", R"({"id": ")" + id +
                                    R"(", "mode": "run", "state": "finished", "metadata": {"job_name": ")" + job +
                                    R"("}, "notes": [], "outcome": {"state": "finished", "started_at": ")" + started +
                                    R"(", "duration_s": 5}})");
    spill(folder + "/metrics.csv", "timestamp\n1.000\n");
    return folder;
  }
  StoredRun read(const std::string& folder) { return *read_stored(folder); }

  TempDir dir_;
};

TEST_F(Removal, TakesWhatARunMakes) {
  const std::string folder = put("a");
  for (const char* name : {"processes.csv", "devices.csv", "marks.csv", "notes.txt", ".run.json.tmp0123456789abcdef",
                           "run.json.tmp0123456789abcdef", "processes.csv.tmp00ff"})
    spill(folder + "/" + name, "xx");
  EXPECT_EQ(reason_to_keep(dir_.path(), read(folder)), "");
  const StoredRun stored = read(folder);
  const auto weight = weigh_run(dir_.path(), stored);
  ASSERT_TRUE(weight);
  const auto removed = remove_run(dir_.path(), stored);
  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_EQ(removed->bytes, weight->bytes);
  EXPECT_GT(removed->bytes, 14);
  EXPECT_TRUE(removed->left.empty());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Removal, LeavesWhatItDidNotMake) {
  const std::string folder = put("a"), secret = dir_ / "secret", linked = dir_ / "linked";
  spill(secret, "precious");
  spill(linked, "precious");
  spill(folder + "/model.bin", "mine");
  std::filesystem::create_symlink(secret, folder + "/devices.csv");
  std::filesystem::create_hard_link(linked, folder + "/marks.csv");
  std::filesystem::create_directory(folder + "/processes.csv");
  const auto removed = remove_run(dir_.path(), read(folder));
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->left, (std::vector<std::string>{"devices.csv", "marks.csv", "model.bin", "processes.csv"}));
  EXPECT_TRUE(std::filesystem::exists(folder + "/model.bin"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/devices.csv"));
  EXPECT_TRUE(std::filesystem::exists(secret));
  EXPECT_TRUE(std::filesystem::exists(linked));
  EXPECT_FALSE(std::filesystem::exists(folder + "/run.json"));
}

TEST_F(Removal, NeverARunThatGoesOn) {
  const std::string folder = put("a");
  auto writer = LineFile::open(folder + "/metrics.csv");
  ASSERT_TRUE(writer && writer->lock());
  EXPECT_EQ(reason_to_keep(dir_.path(), read(folder)), "it goes on");
  EXPECT_FALSE(remove_run(dir_.path(), read(folder)));
  EXPECT_TRUE(std::filesystem::exists(folder + "/run.json"));
}

TEST_F(Removal, NeverWhatIsNotOurs) {
  const std::string folder = put("a");
  const StoredRun stored = read(folder);
  ::chmod(folder.c_str(), 0777);
  EXPECT_NE(reason_to_keep(dir_.path(), stored).find("others may write"), std::string::npos);
  EXPECT_FALSE(remove_run(dir_.path(), stored));
  ::chmod(folder.c_str(), 0700);
  // A copy that somebody made, and a link to a run elsewhere.
  std::filesystem::copy(folder, dir_ / "copy", std::filesystem::copy_options::recursive);
  EXPECT_NE(reason_to_keep(dir_.path(), read(dir_ / "copy")).find("copied"), std::string::npos);
  const TempDir other;
  EXPECT_NE(reason_to_keep(other.path(), stored).find("not in the store"), std::string::npos);
  std::filesystem::rename(folder, other / "a");
  std::filesystem::create_directory_symlink(other / "a", folder);
  EXPECT_NE(reason_to_keep(dir_.path(), read(folder)).find("symbolic link"), std::string::npos);
  EXPECT_FALSE(remove_run(dir_.path(), read(folder)));
  EXPECT_TRUE(std::filesystem::exists(other / "a/run.json"));
}

TEST_F(Removal, NotesStandBesideTheRun) {
  const std::string folder = put("a");
  EXPECT_TRUE(append_note(read(folder), "first\x1b[31m\nline", 5'000'000'000));
  EXPECT_TRUE(append_note(read(folder), "  second ", 6'000'000'000));
  EXPECT_EQ(read(folder).run.notes, (std::vector<std::string>{"first [31m line", "second"}));
  EXPECT_NE(read(folder).json.find("\"second\""), std::string::npos);
  EXPECT_FALSE(append_note(read(folder), " \n ", 1));
  EXPECT_FALSE(append_note(read(folder), std::string(1001, 'x'), 1));
  for (size_t i = 2; i < kMostNotes; ++i) ASSERT_TRUE(append_note(read(folder), "x", 1));
  EXPECT_FALSE(append_note(read(folder), "one too many", 1));
  std::filesystem::remove(folder + "/notes.txt");
  ASSERT_EQ(::mkfifo((folder + "/notes.txt").c_str(), 0600), 0);
  EXPECT_TRUE(read(folder).run.notes.empty());  // not waited for
  EXPECT_FALSE(append_note(read(folder), "x", 1));
}

TEST_F(Removal, NewestFirstWhateverTheFoldersSay) {
  put("20261115-000000000001", "2026-11-15T09:00:00.000Z", "a");
  put("20261115-000000000002", "2026-11-15T12:00:00.000Z", "b");
  put("20261115-000000000003", "2026-11-15T10:00:00.000Z", "a");
  const auto order = [&](const std::optional<std::string>& job) {
    auto runs = NewestRuns::open(dir_.path());
    if (job) runs->only_job(*job);
    std::string digits;
    while (const auto stored = runs->next()) digits += stored->run.id.back();
    return digits;
  };
  EXPECT_EQ(order(std::nullopt), "231");
  EXPECT_EQ(order("a"), "31");
  EXPECT_EQ(order("\"a\""), "");
  // Set back to before the start: then all are read.
  for (const char* id : {"20261115-000000000002", "20261115-000000000001"}) {
    const timespec times[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (dir_ / id).c_str(), times, 0), 0);
  }
  EXPECT_EQ(order(std::nullopt), "231");
}

TEST_F(Removal, AStoreThatCannotBeReadIsAnError) {
  spill(dir_ / "file", "x");
  EXPECT_FALSE(NewestRuns::open(dir_ / "file"));
  EXPECT_FALSE(find_run(dir_ / "file", "last"));
  EXPECT_TRUE(NewestRuns::open(dir_ / "nosuch"));
}

}  // namespace
}  // namespace tacho
