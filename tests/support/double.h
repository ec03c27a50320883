// Starts an HTTP double (tests/doubles/*.py) as a process of its own on loopback, and ends it with the test.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "net/http/http.h"

extern char** environ;

namespace tacho {

class DoubleServer {
 public:
  // script: "s3_double.py"; arguments as its command line has them. The double ends when our end of its stdin is
  // closed, also when the test is killed.
  explicit DoubleServer(const std::string& script, const std::vector<std::string>& arguments = {}) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::abort();
    std::vector<std::string> words = {"python3", std::string(TACHO_DOUBLES) + "/" + script, "--until-eof"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (posix_spawnp(&pid_, "python3", &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    stdin_ = in[1];
    std::string line;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(out[0]);
    port_ = std::atoi(line.c_str());
    if (port_ == 0) std::abort();  // its own message is on stderr
  }
  ~DoubleServer() {
    ::close(stdin_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  DoubleServer(const DoubleServer&) = delete;
  DoubleServer& operator=(const DoubleServer&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& path = "") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

  // The control addresses of tests/doubles/faults.py.
  std::string get(const std::string& path) { return ask("GET", path, ""); }
  void post(const std::string& path, const std::string& body = "") { ask("POST", path, body); }
  void faults(const std::string& rules) { post("/__faults", rules); }
  // A rule for every request that matches.
  void fault(const std::string& match, const std::string& action) {
    faults("[{\"match\":" + match + ",\"action\":" + action + "}]");
  }
  std::string log() { return get("/__log"); }

 private:
  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    HttpRequest request;
    request.method = method;
    request.url = url(path);
    request.body = body;
    const Result<HttpResponse> answer = control_.send(request);
    if (!answer || answer->status >= 300) std::abort();
    return answer->body;
  }

  HttpClient control_;
  pid_t pid_ = -1;
  int stdin_ = -1, port_ = 0;
};

// An environment variable for the time of a test; nullptr removes it.
class WithVariable {
 public:
  WithVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old, had_ = true;
    value != nullptr ? ::setenv(name_.c_str(), value, 1) : ::unsetenv(name_.c_str());
  }
  WithVariable(std::string name, const std::string& value) : WithVariable(std::move(name), value.c_str()) {}
  ~WithVariable() { had_ ? ::setenv(name_.c_str(), old_.c_str(), 1) : ::unsetenv(name_.c_str()); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  std::string name_, old_;
  bool had_ = false;
};

}  // namespace tacho
