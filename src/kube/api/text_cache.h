// Facts read from an object's JSON text, kept as long as that text is the current one: another version of an object is
// another text. Bounded; thread-safe.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tacho {

template <class Facts>
class TextCache {
 public:
  explicit TextCache(size_t limit) : limit_(limit) {}

  // `read(text)` makes the facts; nullptr means that there are none, and is not kept.
  template <class Read>
  std::shared_ptr<const Facts> get(const std::shared_ptr<const std::string>& text, Read read) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(text.get());
      // The address may be that of an older text that is gone.
      if (found != entries_.end() && found->second.text.lock() == text) return found->second.facts;
    }
    std::shared_ptr<const Facts> facts = read(*text);
    if (!facts) return facts;
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= limit_) {
      std::erase_if(entries_, [](const auto& entry) { return entry.second.text.expired(); });
      if (entries_.size() >= limit_) entries_.clear();
    }
    entries_[text.get()] = {text, facts};
    return facts;
  }

 private:
  struct Entry {
    std::weak_ptr<const std::string> text;
    std::shared_ptr<const Facts> facts;
  };
  const size_t limit_;
  std::mutex mutex_;
  std::unordered_map<const std::string*, Entry> entries_;
};

}  // namespace tacho
