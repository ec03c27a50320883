// How ProcessTree knows whose memory is shared with whom.
#include "base/units.h"
#include "os/process.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr int64_t kSharingMattersBytes = 8 * kMiB;

}  // namespace

// A fork shares all memory of its parent: the parts of the whole family change when one comes or goes. What small
// processes share is mostly libraries, which the whole machine has.
void ProcessTree::family_changed(const Member& by) {
  if (by.most_rss_bytes() < kSharingMattersBytes)
    return;  // the most, since one that ends gives its memory back by and by
  for (Member& member : members_)
    if ((member.pid() == by.parent() || member.parent() == by.parent() || member.parent() == by.pid()) &&
        member.rss_bytes() >= kSharingMattersBytes)
      member.sharing_changed = true;
}

// Who was not known to have memory of its own is asked, until it has: its parent's would count twice. What was read of
// it meanwhile may still be its parent's.
void ProcessTree::find_borrowers() {
  for (Member& member : members_) {
    if (!member.borrows_memory) continue;
    Member* const parent = find(member.parent());
    if (parent != nullptr && !member.zombie()) {
      const std::optional<bool> told = share_memory(parent->pid(), member.pid());
      if (told.value_or(false)) continue;
      member.refresh(proc_fd_.get(), context_.buffer);
      if (!told && parent->seems_to_lend_memory_to(member, proc_fd_.get(), context_.buffer)) continue;
    }
    member.take_left_parent();
    member.borrows_memory = false;
    family_changed(member);
  }
}

}  // namespace tacho
