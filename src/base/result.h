// Result<T>: a value or an Error. The only way a failure crosses a folder; no exception does.
// A value type; as thread-safe as T.
#pragma once
#include <string>
#include <utility>
#include <variant>

namespace tacho {

enum class Code {
  not_available,  // not on this machine or kernel: normal, silent
  gone,           // was there, ended meanwhile: normal, silent
  denied,         // no permission
  invalid,        // what a person or a file said makes no sense
  io,             // the system refused: disk full, broken pipe …
};

struct Error {
  Code code = Code::io;
  std::string what;  // a finished sentence part: "cannot open the output"
  std::string path;  // the file, option or key it is about; may be empty
  std::string hint;  // what to do next; may be empty

  // "what: path (hint)", as a person reads it.
  std::string message() const {
    std::string text = what;
    if (!path.empty()) text += ": " + path;
    if (!hint.empty()) text += " (" + hint + ")";
    return text;
  }
};

template <class T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }
  T value_or(T other) const { return *this ? **this : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
inline Status ok() { return std::monostate{}; }

}  // namespace tacho
