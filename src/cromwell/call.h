// What is read about a workflow and one call attempt in Cromwell's metadata (GET …/metadata), before any rule is
// applied: texts unchanged, absent ones empty or nullopt. Plain values.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tacho {

// {"id": …, "workflowName": …, "status": …, "start": …, "end": …, "calls": {"main.task": [call, …]}}
struct WorkflowHead {
  std::string id, name, status, start, end;
};

enum class InputType : uint8_t { null, boolean, number, string, file };

struct CallInput {
  std::string key;  // reads[0], map["k"]
  InputType type = InputType::null;
  std::string value;                  // of a file its gs:// path until its size is known
  std::optional<int64_t> size_bytes;  // of a file
};

// A member that must be an integer: absent, read, or something else (then its text).
struct MaybeInteger {
  std::optional<int64_t> value;
  std::string unreadable;
  void clear() { value.reset(), unreadable.clear(); }
};

struct Call {
  std::string fqn;  // the key under "calls"
  MaybeInteger shard, attempt;
  std::string status, start, end, docker_image, job_id;
  std::optional<bool> preemptible, cache_hit;
  std::optional<int64_t> return_code;
  std::string vm_start, vm_end;
  std::optional<double> vm_cost_per_hour;
  std::string backend;  // the member of that name: "GCPBATCH", "Local" …; seldom asked for
  bool has_jes = false, has_batch = false;
  std::string project, zone, instance_name, machine_type;  // of jes or gcpBatch
  // runtimeAttributes; numbers as their text
  bool has_attributes = false;
  std::string cpu, memory, disks, docker, max_preemptible, cpu_platform, gpu_count, gpu_type, predefined_machine_type;
  std::string sub_workflow_id;
  bool has_sub_workflow = false;  // subWorkflowMetadata was there and has been read
  std::vector<CallInput> inputs;  // in the order of the document
  bool inputs_cut = false;

  void clear() {
    std::vector<CallInput> kept = std::move(inputs);
    kept.clear();  // keeps the memory
    *this = Call();
    inputs = std::move(kept);
  }
};

}  // namespace tacho
