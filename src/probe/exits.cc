// The ends of processes as the kernel tells of them: names who lived between two ticks in processes.csv, and knows what
// an attached process used in the end. Off by default: from then on each task of the machine that ends costs the kernel
// a message, and tacho its share of reading it, whosever it is; what the job costs must not depend on strangers.
#include "probe/exits.h"

#include "os/exit_messages.h"
#include "probe/tree/exit_records.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr Column kColumns[] = {
    {297, "process_exits", "count", 0, Rule::delta, 0, 1, "Processes of the job that ended in this interval."},
};

class ExitsProbe final : public Probe {
 public:
  explicit ExitsProbe(ProbeContext& context) : tree_(*context.tree) {}
  void read(Reading& out) override { out.set(0, tree_.processes_ended()); }

 private:
  ProcessTree& tree_;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  if (context.tree == nullptr) return Error{Code::not_available, "no process is tracked", "", ""};
  auto messages = ExitMessages::open();
  if (!messages) {
    context.note(messages.error().what + ": who lives between two ticks has no line of its own");
    return messages.error();
  }
  context.tree->listen(std::make_unique<ExitRecords>(std::move(*messages)));
  context.note(
      "processes that lived between two ticks are named by the kernel's messages (taskstats), which lack up to a tick "
      "of the scheduler's of each: that time is in the line (short-lived)");
  return std::unique_ptr<Probe>(std::make_unique<ExitsProbe>(context));
}

Status check(const Roots&) {
  const auto messages = ExitMessages::open();
  return messages ? ok() : Status(messages.error());
}

}  // namespace

constinit const ProbeInfo kExitsProbe{
    "exits", ProbeDefault::off, "ends of processes as the kernel tells of them: names short-lived ones", kColumns, make,
    check};

}  // namespace tacho
