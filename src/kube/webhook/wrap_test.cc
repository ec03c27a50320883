#include "kube/webhook/wrap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tacho {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kValue = "it's $HOME \"$(pwd)\" 'x; echo no";

// What Kubernetes does to command and args: $(NAME) of a known variable becomes its value, $$ becomes $.
std::string expand(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += text[i++];
    } else if (text.compare(i, 7, "$(NAME)") == 0) {
      out += kValue;
      i += 6;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Ran {
  int code = 0;
  std::string out, marker, log;
};

class Wrap : public ::testing::Test {
 protected:
  Wrap() {
    std::string name = fs::temp_directory_path() / "tacho-wrap-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Wrap() override { fs::remove_all(folder_); }

  static std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  Ran run(const Wrapped& wrapped, const std::string& mark = "") {
    Words words = wrapped.command;
    words.insert(words.end(), wrapped.args.begin(), wrapped.args.end());
    for (std::string& word : words) word = expand(word);
    const std::string out = folder_ + "/out";
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (std::freopen(out.c_str(), "w", stdout) == nullptr) ::_exit(99);
      if (!mark.empty()) std::ofstream(shared() + "/" + std::to_string(::getpid()) + ".pid") << mark;
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execvp(argv[0], argv.data());
      ::_exit(98);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    Ran ran;
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.out = read(out);
    ran.marker = read(fs::path(shared()) / (std::to_string(pid) + ".pid"));
    ran.log = read(log());
    return ran;
  }
  std::string shared() {
    fs::create_directory(folder_ + "/katib");
    return folder_ + "/katib";
  }
  std::string log() { return shared() + "/metrics.log"; }
  Ran run_shell(const Words& words, bool std_out = true, bool rules = false, const std::string& mark = "") {
    return run(wrap_with_shell(words, {shared(), std_out ? log() : "", rules}), mark);
  }
  std::string folder_;
};

// Prints its arguments, one a line in brackets.
const Words kShow = {"python3", "-c", "import sys\nfor a in sys.argv[1:]: print('[' + a.replace('\\n', '~') + ']')"};

TEST_F(Wrap, EveryWordArrivesAsItWas) {
  Words words = kShow;
  const Words odd = {"a b",  "",       "'", "\"",      "it's",       "$HOME",
                     "`id`", "$(pwd)", "*", "a;b|c&d", "line\nline", "{\"k\": [1, \"x\"]}",
                     "\\",   "#c",     "~", "!x",      "ü€"};
  words.insert(words.end(), odd.begin(), odd.end());
  std::string expected;
  for (std::string word : odd) {
    for (char& c : word) c = c == '\n' ? '~' : c;
    expected += "[" + word + "]\n";
  }
  const Ran ran = run_shell(words);
  EXPECT_EQ(ran.log, expected);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "") << "redirected";
  EXPECT_EQ(ran.marker, "completed\n");
}

TEST_F(Wrap, KubernetesExpandsOnce) {
  Words words = kShow;
  words.insert(words.end(), {"$(NAME)", "$$(NAME)", "$$$$", "$", "a$b"});
  // The value of a variable is put into the words as it is: a quote in it must not end one of ours.
  EXPECT_EQ(run_shell(words).log, "[" + std::string(kValue) + "]\n[$(NAME)]\n[$$]\n[$]\n[a$b]\n");
  const Wrapped launcher = wrap_with_launcher(words, {"/var/log/katib", "", false});
  EXPECT_EQ(Words(launcher.command.end() - 5, launcher.command.end()),
            Words({"$(NAME)", "$$(NAME)", "$$$$", "$", "a$b"}));
}

const Words kShellForms[] = {{"sh", "-c"},
                             {"bash", "-c"},
                             {"/bin/bash", "-c"},
                             {"bash", "-lc"},
                             {"sh", "-ec"},
                             {"sh", "-e", "-c"},
                             {"dash", "-c"},
                             {"/bin/dash", "-euc"},
                             {"busybox", "sh", "-c"},
                             {"busybox", "ash", "-ec"},
                             {"zsh", "-c"},
                             {"bash", "-o", "pipefail", "-c"},
                             {"bash", "-euo", "pipefail", "-c"},
                             {"bash", "--norc", "--noprofile", "-c"},
                             {"bash", "+x", "-c"},
                             {"env", "A=1", "B=x y", "sh", "-c"},
                             {"/usr/bin/env", "-u", "HOME", "C=2", "bash", "-ec"},
                             {"sh", "-c", "--"}};

TEST_F(Wrap, ScriptsOfEveryShellForm) {
  // Several statements, a trailing comment, a background job, a newline at the end.
  const std::string script = "x=1\necho \"one $x $0 $1\"\necho two >&2; sleep 0 &\nwait\necho 'three' # and a comment";
  for (Words words : kShellForms) {
    const std::string name = ::testing::PrintToString(words);
    ASSERT_TRUE(script_position([&] {
      Words w = words;
      w.push_back(script);
      return w;
    }()))
        << name;
    words.insert(words.end(), {script, "zero", "first arg"});
    const Ran ran = run_shell(words);
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_EQ(ran.log, "one 1 zero first arg\ntwo\nthree\n") << name;
    EXPECT_EQ(ran.out, "") << name;
    EXPECT_EQ(ran.marker, "completed\n") << name;
  }
}

TEST_F(Wrap, FailingScriptsLeaveNoMarker) {
  for (Words words : kShellForms) {
    const std::string name = ::testing::PrintToString(words);
    words.push_back("echo before\n(exit 5)");
    const Ran ran = run_shell(words);
    EXPECT_EQ(ran.code, 5) << name;
    EXPECT_EQ(ran.log, "before\n") << name;
    EXPECT_EQ(ran.marker, "") << name;
  }
}

TEST_F(Wrap, StopsAtTheFirstFailureOnlyWithE) {
  const std::string script = "echo a; false; echo b";
  for (const Words& shell : {Words{"sh", "-ec"}, Words{"bash", "-ec"}, Words{"busybox", "sh", "-ec"},
                             Words{"bash", "-euo", "pipefail", "-c"}, Words{"zsh", "-ec"}}) {
    Words words = shell;
    words.push_back(script);
    for (const bool rules : {false, true}) {
      const Ran ran = run_shell(words, true, rules);
      EXPECT_EQ(ran.log, "a\n") << ::testing::PrintToString(shell);
      EXPECT_EQ(ran.code, 1);
      EXPECT_EQ(ran.marker, "");
      EXPECT_EQ(ran.out, rules ? "Training Container was Failed\n" : "");
    }
  }
  const Ran ran = run_shell({"sh", "-c", script});
  EXPECT_EQ(ran.log, "a\nb\n");
  EXPECT_EQ(ran.code, 0);
}

TEST_F(Wrap, ScriptsThatEndInOddWays) {
  struct Case {
    const char* script;
    int code;
    const char* log;
  };
  for (const Case& one :
       {Case{"echo x; exit 0", 0, "x\n"}, Case{"echo x; exit 7", 7, "x\n"}, Case{"exec echo replaced", 0, "replaced\n"},
        Case{"echo x\n", 0, "x\n"}, Case{"echo x &", 0, "x\n"}, Case{"echo x \\", 0, "x\n"},
        Case{"trap 'echo bye' EXIT; echo x", 0, "x\nbye\n"}, Case{"cat <<END\ntext\nEND", 0, "text\n"},
        Case{"kill -9 $$$$", 137, ""}, Case{"f() { return 3; }; f", 3, ""}, Case{"# only a comment", 0, ""}}) {
    for (const Words& shell : {Words{"sh", "-c"}, Words{"bash", "-c"}, Words{"busybox", "sh", "-c"}}) {
      Words words = shell;
      words.push_back(one.script);
      const Ran ran = run_shell(words);
      EXPECT_EQ(ran.code, one.code) << one.script << " " << shell[0];
      if (std::string(one.script).find('&') == std::string::npos) {
        EXPECT_EQ(ran.log, one.log) << one.script << " " << shell[0];
      }
      EXPECT_EQ(ran.marker, one.code == 0 ? "completed\n" : "") << one.script << " " << shell[0];
    }
  }
}

TEST_F(Wrap, EarlyStop) {
  for (const Words& shell :
       {Words{"sh", "-c"}, Words{"bash", "-ec"}, Words{"busybox", "sh", "-c"}, Words{"zsh", "-c"}, Words{}}) {
    Words words = shell;
    if (shell.empty()) words = {"false"};
    else words.push_back("echo x; exit 143");
    const std::string name = ::testing::PrintToString(words);
    Ran ran = run_shell(words, true, true, "early-stopped\n");
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_EQ(ran.out, "Training Container was Early Stopped\n") << name;
    EXPECT_EQ(ran.marker, "completed\n") << name;
    ran = run_shell(words, true, true, "early-stopped");
    EXPECT_EQ(ran.code, 0) << "a marker without a newline, " << name;
    ran = run_shell(words, true, true, "other\n");
    EXPECT_EQ(ran.code, 1) << name;
    EXPECT_EQ(ran.out, "Training Container was Failed\n") << name;
    EXPECT_EQ(ran.marker, "other\n") << name;
    ran = run_shell(words, true, true);
    EXPECT_EQ(ran.code, 1) << name;
  }
}

TEST_F(Wrap, OtherKindsAreNotRedirected) {
  const Ran ran = run_shell({"sh", "-c", "echo seen"}, false);
  EXPECT_EQ(ran.out, "seen\n");
  EXPECT_EQ(ran.marker, "completed\n");
  EXPECT_EQ(ran.log, "");
}

TEST_F(Wrap, FoldersWithOddNames) {
  const std::string folder = folder_ + "/a b's $x";
  fs::create_directory(folder);
  const Ran ran = run(wrap_with_shell({"echo", "hi"}, {folder + "/", folder + "/m l.log", true}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(read(folder + "/m l.log"), "hi\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2) << "log and marker";
}

TEST_F(Wrap, KeepsTheTextThatOlderCollectorsLookFor) {
  const WrapOptions options{"/var/log/katib", "/var/log/katib/metrics.log", false};
  EXPECT_NE(wrap_with_shell({"python", "a.py"}, options).args[0].find("echo completed > /var/log/katib/$$$$.pid"),
            std::string::npos);
  std::string joined;
  for (const std::string& word : wrap_with_launcher({"python"}, options).command) joined += word + " ";
  EXPECT_EQ(joined,
            "/tacho/exec --dir /var/log/katib --file /var/log/katib/metrics.log --note echo completed > /var/log/katib "
            "-- python ");
}

TEST(ScriptPosition, OnlyCallsOfAShellWithAScript) {
  EXPECT_EQ(script_position({"sh", "-c", "x"}), 2u);
  EXPECT_EQ(script_position({"/usr/bin/env", "-i", "A=b", "busybox", "ash", "-xc", "x", "y"}), 6u);
  EXPECT_EQ(script_position({"bash", "-O", "extglob", "-c", "x"}), 4u);
  EXPECT_EQ(script_position({"bash", "--rcfile", "f", "-c", "x"}), 4u);
  for (const Words& words :
       {Words{}, Words{"sh"}, Words{"sh", "-c"}, Words{"sh", "script.sh"}, Words{"bash", "script.sh", "-c", "x"},
        Words{"python", "-c", "x"}, Words{"env"}, Words{"env", "A=1"}, Words{"busybox"}, Words{"busybox", "sleep", "1"},
        Words{"env", "-S", "sh -c x"}, Words{"fish", "-c", "x"}, Words{"sh", "--", "-c", "x"}, Words{"", "-c", "x"}})
    EXPECT_FALSE(script_position(words)) << ::testing::PrintToString(words);
}

TEST(ForKubernetes, DoublesOnlyWhatWouldMeanSomething) {
  EXPECT_EQ(for_kubernetes("a$b $"), "a$b $");
  EXPECT_EQ(for_kubernetes("$(x) $$ $$(y)"), "$$(x) $$$$ $$$$(y)");
  EXPECT_EQ(expand(for_kubernetes("^(a|b)$(NAME)$$$")), "^(a|b)$(NAME)$$$");
}

TEST_F(Wrap, AProgramIsNeverTheShellsOwn) {
  // A builtin of that name would print its version of it, or end the wrapper.
  EXPECT_EQ(run_shell({"printf", "%s\n", "-x"}).log, "-x\n");
  EXPECT_EQ(run_shell({"exit", "0"}).code, 127);
  EXPECT_EQ(run_shell({"A=1", "true"}).code, 127) << "no assignment";
}

TEST_F(Wrap, AShellAloneIsACommand) {
  EXPECT_EQ(wrap_with_shell({"sh"}, {shared(), "", false}).command, Words({"sh", "-c"}));
  EXPECT_EQ(run_shell({"true"}).code, 0);
  EXPECT_EQ(run_shell({"tacho-no-such-command"}).code, 127);
}

}  // namespace
}  // namespace tacho
