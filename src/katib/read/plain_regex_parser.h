// Reads a plain regular expression (plain_regex.h) and writes its program. It leaves to RE2 what it does not know for
// sure: flags, anchors, boundaries, Unicode, repetitions of something that may be empty, and expressions that may match
// nothing at all. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "katib/read/plain_regex.h"

namespace tacho {

class PlainParser {
 public:
  explicit PlainParser(std::string_view text) : text_(text) {}
  bool compile(PlainRegex& out);

 private:
  using Letters = std::array<bool, 128>;
  using Step = PlainRegex::Step;
  struct Node {
    enum class Kind : uint8_t { empty, letters, sequence, choice, repeat, group } kind = Kind::empty;
    Letters letters{};
    std::vector<int> parts;
    int least = 0, most = 0;  // repeat; most −1: any number
    bool greedy = true;
    int number = 0;  // group
    bool may_be_empty = true;
  };
  int add(Node node);
  int fail() { return good_ = false, 0; }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  int choice();
  int sequence();
  int repeated();
  int atom();
  int group();
  int bracket();
  int letter(unsigned char c);
  bool escape(Letters& out);
  std::optional<int> class_letter();
  std::optional<std::pair<int, int>> counts();
  void emit(int node);
  int32_t put(Step step);

  std::string_view text_;
  size_t at_ = 0;
  bool good_ = true;
  int groups_ = 0, depth_ = 0;
  std::vector<Node> nodes_;
  std::vector<Step>* program_ = nullptr;
};

}  // namespace tacho
