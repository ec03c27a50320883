#include "katib/read/tag_selection.h"

namespace tacho {

TagSelection::TagSelection(const ReaderOptions& options)
    : prefix_only_(options.tag_rule == TagRule::prefix), whole_folders_(options.whole_folders) {
  for (const std::string& metric : options.metrics) {
    Name name{metric, metric, {}, false};
    if (const size_t slash = metric.rfind('/'); slash != std::string::npos) {
      name.last = metric.substr(slash + 1);
      name.has_folder = true;
      name.folder = metric.substr(0, slash);
      const size_t end = name.folder.find_last_not_of('/');
      name.folder = end == std::string::npos ? metric.substr(0, slash + 1) : name.folder.substr(0, end + 1);
    }
    names_.push_back(std::move(name));
  }
}

std::vector<bool> TagSelection::metrics_of_folder(std::string_view folder) const {
  std::vector<bool> fits;
  for (const Name& name : names_) {
    bool fit = !name.has_folder || folder.ends_with(name.folder);
    if (fit && name.has_folder && whole_folders_ && folder.size() > name.folder.size())
      fit = folder[folder.size() - name.folder.size() - 1] == '/';
    fits.push_back(fit);
  }
  return fits;
}

std::bitset<256> TagSelection::first_letters() const {
  std::bitset<256> letters;
  for (const Name& name : names_) {
    if (name.last.empty()) return letters.set();
    letters.set(static_cast<unsigned char>(name.last[0]));
    letters.set(static_cast<unsigned char>(name.whole[0]));
  }
  return letters;
}

TagMatch TagSelection::match(size_t metric, bool folder_fits, std::string_view tag) const {
  const Name& name = names_[metric];
  // Most tags are somebody else's, and differ in their first letter.
  if (!tag.empty() && !name.last.empty() && tag[0] != name.last[0] && (prefix_only_ || tag[0] != name.whole[0]))
    return TagMatch::none;
  if (prefix_only_) return folder_fits && tag.starts_with(name.last) ? TagMatch::prefix : TagMatch::none;
  if (tag == name.whole) return TagMatch::whole;
  if (!folder_fits || !tag.starts_with(name.last)) return TagMatch::none;
  return tag.size() == name.last.size() ? TagMatch::last : TagMatch::prefix;
}

}  // namespace tacho
