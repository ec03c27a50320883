// Which tag of which event file belongs to a requested metric. For a metric m = "DIR/LAST" or "LAST":
//   drop-in: the tag begins with LAST and, where there is a DIR, the text of the file's folder ends with DIR;
//   tacho:   the tag is m; else it is LAST and the folder ends with the components DIR; else it begins with LAST
//   (warned of).
// Pure; thread-safe.
#pragma once
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "katib/read/reader_options.h"

namespace tacho {

enum class TagMatch { whole, last, prefix, none };  // the earlier, the better

class TagSelection {
 public:
  explicit TagSelection(const ReaderOptions& options);

  // For each metric: may its DIR part be this folder?
  std::vector<bool> metrics_of_folder(std::string_view folder) const;
  // Which first letters a tag may have so that it can match anything.
  std::bitset<256> first_letters() const;
  TagMatch match(size_t metric, bool folder_fits, std::string_view tag) const;

 private:
  struct Name {
    std::string whole, last, folder;
    bool has_folder = false;
  };
  std::vector<Name> names_;
  bool prefix_only_;
  bool whole_folders_;
};

}  // namespace tacho
