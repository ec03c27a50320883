// Finds the next place in a text where any of a few words stands: the filter before all other work on a log. Compares
// two telling bytes of a word with 16 or 32 places at a time (SSE2, AVX2), then the word. Pure after construction; no
// allocation.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

class Needle {
 public:
  explicit Needle(std::string word);
  // The first place of the word in [from, end), or null.
  const char* find(const char* from, const char* end) const;
  const std::string& word() const { return word_; }

 private:
  std::string word_;
  size_t first_ = 0, second_ = 0;  // the two telling bytes, first_ ≤ second_
};

// Walks over one text, from line to line that holds a word.
class NeedleScan {
 public:
  // Words that are empty or hold a line's end are never found.
  explicit NeedleScan(const std::vector<std::string>& words);
  bool empty() const { return needles_.empty(); }

  void start(std::string_view text);
  // The next place at or after `from` in the started text, or null. `from` never goes back.
  const char* next(const char* from);

 private:
  std::vector<Needle> needles_;
  std::vector<const char*> found_;  // where each needle was found next; end_ when nowhere
  const char* end_ = nullptr;
};

}  // namespace tacho
