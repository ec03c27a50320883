// What is around tacho: NVML, the run store, open files, sibling programs, how it was linked; and what each probe says.
#include <dlfcn.h>
#include <unistd.h>

#include "cli/concat.h"
#include "cli/doctor.h"
#include "os/disk_full.h"
#include "os/owned_folder.h"
#include "os/process.h"
#include "os/sibling.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/kit/probe.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr const char* kNoDriver = "no NVIDIA driver is loaded";
constexpr const char* kNoGpu = "nothing to do on a machine without an NVIDIA GPU; else install its driver";

Finding check_nvml(const Roots& roots) {
  const bool driver = file_exists(roots.proc + "/driver/nvidia/version");
#ifdef TACHO_STATIC
  Status status = find_nvml();
  if (status) status = check_gpu_helper(gpu_helper());
  if (status) return {"NVML", Health::ok, "read by " + gpu_helper(), "", ""};
  return {"NVML", driver ? Health::broken : Health::not_applicable, status.error().message(),
          driver ? "the NVIDIA GPUs here are not measured" : kNoDriver, driver ? status.error().hint : kNoGpu};
#else
  if (void* library = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    ::dlclose(library);
    return {"NVML", Health::ok, driver ? "found" : "found, but no NVIDIA driver is loaded", "", ""};
  }
  return {"NVML", driver ? Health::broken : Health::not_applicable, "libnvidia-ml.so.1 is not found",
          driver ? "the NVIDIA GPUs here are not measured" : kNoDriver,
          driver ? "install the driver's library; in a container, NVIDIA_DRIVER_CAPABILITIES=utility" : kNoGpu};
#endif
}

std::string existing_part(const std::string& folder) {
  for (size_t end = folder.size(); end != std::string::npos && end > 0; end = folder.rfind('/', end - 1))
    if (file_exists(folder.substr(0, end))) return folder.substr(0, end);
  return std::string(1, folder.starts_with('/') ? '/' : '.');
}

// Tried, not asked: root may "write" where nothing can be made. What was made for the trial is taken away again.
Finding check_store(const Settings& settings) {
  const std::string& folder = settings.store_dir;
  if (folder.empty()) return {"run store", Health::ok, "off (--no-store): runs leave no record", "", ""};
  const auto broken = [&](const Error& error) {
    const bool refuses = settings.store_named && !is_disk_full(error);
    return Finding{"run store",
                   Health::broken,
                   error.message(),
                   refuses ? "tacho run does not start, since this store was asked for" : "runs leave no record there",
                   "--store DIR or TACHO_STORE with a folder that you may write, or --no-store",
                   refuses};
  };
  if (const Status ours = check_run_store(folder); !ours) return broken(ours.error());
  const std::string existing = existing_part(folder);
  const std::string trial = folder + "/" + temporary_name(".doctor");
  Status status = make_directories(folder);
  if (status) status = write_file_atomically(trial, "");
  if (status) ::unlink(trial.c_str());
  for (size_t end = folder.size(); end != std::string::npos && end > existing.size(); end = folder.rfind('/', end - 1))
    ::rmdir(folder.substr(0, end).c_str());
  if (status) return {"run store", Health::ok, folder + (existing == folder ? "" : " (made at the first run)"), "", ""};
  return broken(status.error());
}

Finding check_open_files() {
  // A tree is followed through three descriptors a process.
  const uint64_t limit = raise_open_files();
  const std::string seen = std::to_string(limit) + " may be open: about " + std::to_string(limit / 3) + " processes";
  if (limit >= 1024) return {"open files", Health::ok, seen, "", ""};
  return {"open files", Health::limited, seen, "larger trees are read more slowly", "ulimit -Hn 65536"};
}

Finding check_sibling(const std::string& program, const std::string& gives) {
  const std::string path = sibling_path(program);
  if (::access(path.c_str(), X_OK) == 0) return {program, Health::ok, path, "", ""};
  return {program, Health::limited, "not next to tacho", gives + " are not available",
          "install it in the same folder as tacho"};
}

Finding check_linking() {
#ifdef TACHO_STATIC
  return {"build", Health::ok, "static", "", ""};
#else
  return {"build", Health::ok, "dynamic (libraries can be loaded at run time)", "", ""};
#endif
}

}  // namespace

void examine_files(const Roots& roots, const Settings& settings, std::vector<Finding>& findings) {
  findings.push_back(check_nvml(roots));
  findings.push_back(check_store(settings));
  findings.push_back(check_open_files());
  findings.push_back(check_sibling(kDelivererName, "remote outputs, discover, deliver, cromwell and bq"));
  findings.push_back(check_sibling(kKatibName, "the Katib sidecar and webhook"));
#ifdef TACHO_STATIC
  findings.push_back(check_sibling(kGpuReaderName, "columns of NVIDIA GPUs"));
#endif
  findings.push_back(check_linking());
}

void examine_probes(const Roots& roots, std::vector<Finding>& findings) {
  for (const ProbeInfo& probe : all_probes()) {
    const std::string name = concat({"probe ", probe.name});
    const std::string_view off = probe.by_default == ProbeDefault::off ? " (off unless --probe asks for it)" : "";
    if (const Status status = probe.check(roots); status) {
      findings.push_back({name, Health::ok, concat({probe.help, off}), "", ""});
    } else {
      const Error& error = status.error();
      findings.push_back({name, error.code == Code::not_available ? Health::not_applicable : Health::limited,
                          concat({error.what, error.path.empty() ? "" : ": ", error.path}), "its columns stay empty",
                          error.hint});
    }
  }
}

}  // namespace tacho
