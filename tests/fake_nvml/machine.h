// The machine that a test describes: the lines of the file FAKE_NVML (fake_nvml.cc says which there are), read at every
// call.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace fake {

using Settings = std::map<std::string, std::string>;

struct Process {
  size_t device;
  std::string list;
  unsigned int pid;
  unsigned long long bytes;
  int instance;
};
struct Sample {
  size_t device;
  unsigned int pid, sm;
  long long age_us;
};
struct Rule {
  std::string function;
  int value;
  int device;
};
struct Instance {
  size_t device;
  Settings settings;
};
struct Machine {
  std::vector<Settings> devices;
  std::vector<Instance> instances;
  std::vector<Process> processes;
  std::vector<Sample> samples;
  std::vector<Rule> errors, delays;
  std::string driver = "580.00";
};

inline Settings settings_of(std::istringstream& words) {
  Settings settings;
  std::string word;
  while (words >> word) settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return settings;
}

inline unsigned int pid_of(const std::string& word) {
  if (word == "self") return static_cast<unsigned int>(::getpid());
  if (word[0] != '@') return static_cast<unsigned int>(std::stoul(word));
  unsigned int pid = 0;
  std::ifstream(word.substr(1)) >> pid;
  return pid;
}

inline Machine read_machine() {
  Machine machine;
  const char* path = std::getenv("FAKE_NVML");
  std::ifstream file(path != nullptr ? path : "");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, a, b, c, d;
    words >> kind;
    if (kind == "device") {
      machine.devices.push_back(settings_of(words));
    } else if (kind == "instance") {
      size_t device = 0;
      words >> device;
      machine.instances.push_back({device, settings_of(words)});
    } else if (kind == "process") {
      size_t device = 0;
      int instance = -1;
      words >> device >> a >> b >> c;
      if (!(words >> instance)) instance = -1;
      machine.processes.push_back({device, a, pid_of(b), c == "na" ? ~0ull : std::stoull(c), instance});
    } else if (kind == "sample") {
      Sample sample{};
      long long age_ms = 0;
      words >> sample.device >> a >> sample.sm >> age_ms;
      sample.pid = pid_of(a);
      sample.age_us = age_ms * 1000;
      machine.samples.push_back(sample);
    } else if (kind == "error" || kind == "delay") {
      Rule rule{"", 0, -1};
      words >> rule.function >> rule.value;
      if (!(words >> rule.device)) rule.device = -1;
      (kind == "error" ? machine.errors : machine.delays).push_back(rule);
    } else if (kind == "driver") {
      words >> machine.driver;
    }
  }
  return machine;
}

inline void log(const std::string& text) {
  const char* path = std::getenv("FAKE_NVML_LOG");
  if (path == nullptr) return;
  const int fd = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const std::string line = text + "\n";
  if (fd >= 0 && ::write(fd, line.data(), line.size()) < 0) std::abort();
  if (fd >= 0) ::close(fd);
}

inline int rule_value(const std::vector<Rule>& rules, const char* function, int device) {
  for (const Rule& rule : rules)
    if ((rule.function == "all" || std::string("nvml") + rule.function == function) &&
        (rule.device < 0 || rule.device == device))
      return rule.value;
  return 0;
}

}  // namespace fake
