// A JSON text looked at in place: one pass checks it whole (RFC 8259, UTF-8) and lists where its values are; texts and
// numbers are made only of what is asked for. A tenth of the time of a tree, which counts where a hundred thousand
// files are read. The text and the JsonText must outlive the views. Not thread-safe while parsing; views are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

class JsonView;

class JsonText {
 public:
  static constexpr size_t kDeepest = 64;  // of arrays and objects: nobody who goes down the views runs out of stack

  // False when it is no JSON, deeper than that, or of 4 GiB and more. May be called again: the memory is kept.
  bool parse(std::string_view text);
  JsonView root() const;  // nothing before a parse that went well

 private:
  friend class JsonView;
  friend class JsonParse;
  enum class Kind : uint8_t { null, yes, no, number, text, escaped_text, array, object };
  struct Node {
    uint32_t at;    // of its first byte; of a text, behind the quote
    uint32_t size;  // of its bytes, of a text without the quotes; of an array or object: of the nodes with it
    Kind kind;
  };
  std::string_view text_;
  std::vector<Node> nodes_;  // a member is its name, then its value
};

// One value, or nothing: then every question is answered with no.
class JsonView {
 public:
  JsonView() = default;
  explicit operator bool() const { return json_ != nullptr; }
  bool is_object() const { return is(JsonText::Kind::object); }
  bool is_array() const { return is(JsonText::Kind::array); }
  bool is_string() const { return is(JsonText::Kind::text) || is(JsonText::Kind::escaped_text); }
  bool is_number() const { return is(JsonText::Kind::number); }

  std::optional<std::string> string() const;
  std::optional<bool> boolean() const;
  std::optional<double> number() const;    // that a double holds
  std::optional<int64_t> integer() const;  // of a number with a fraction, without it
  // As it stands there, of a string without the quotes; empty for arrays and objects.
  std::string_view source() const {
    if (json_ == nullptr || is_container()) return {};
    return {json_->text_.data() + node().at, node().size};
  }
  JsonView operator[](std::string_view name) const;  // of two members of one name the last

  // take(value) for each element; take(name, value) for each member, the name a string.
  template <class Take>
  void each_element(Take take) const {
    if (is_array())
      for (JsonView at = inside(); at.index_ < end(); at = at.behind()) take(at);
  }
  template <class Take>
  void each_member(Take take) const {
    if (!is_object()) return;
    for (JsonView at = inside(); at.index_ < end();) {
      const JsonView value = at.behind();
      take(at, value);
      at = value.behind();
    }
  }

 private:
  friend class JsonText;
  JsonView(const JsonText& json, uint32_t index) : json_(&json), index_(index) {}
  const JsonText::Node& node() const { return json_->nodes_[index_]; }
  bool is(JsonText::Kind kind) const { return json_ != nullptr && node().kind == kind; }
  bool is_container() const { return node().kind >= JsonText::Kind::array; }
  uint32_t end() const { return index_ + (is_container() ? node().size : 1); }
  JsonView inside() const { return {*json_, index_ + 1}; }
  JsonView behind() const { return {*json_, end()}; }

  const JsonText* json_ = nullptr;
  uint32_t index_ = 0;
};

}  // namespace tacho
