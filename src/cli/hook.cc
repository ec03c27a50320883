// tacho hook NAME: shell code for engines, to be evaluated where their tasks are started. What is printed is safe under
// `set -eu`, and acts only where it finds what it expects.
#include "base/path.h"
#include "cli/coach.h"
#include "cli/commands.h"
#include "os/file.h"
#include "os/sibling.h"

namespace tacho {
namespace {

// The wrapper of a task runs the function that its first argument names, so the nested call launches the original. Of
// a task with `scratch` it says NXF_TASK_WORKDIR anew after this, and means the scratch folder: what the task was
// called stands where it begins. The shell looks by itself: each program that is started takes a millisecond of a task.
// Where the line that calls the function gives it a subshell of its own, `(nxf_launch | tee …)`, tacho takes the place
// of that subshell, which has nothing else to do: a process less.
std::string nextflow_hook() {
  const std::string tacho = shell_words({own_program()});
  return R"(if [ -n "${BASH_VERSION:-}" ] && declare -F nxf_launch >/dev/null 2>&1; then
  tacho_wrapper=$0 tacho_start=
  case $0 in /*) ;; *) tacho_wrapper=$PWD/${0#./} ;; esac
  [ ! -L "$tacho_wrapper" ] || tacho_wrapper=$(readlink -f "$tacho_wrapper" 2>/dev/null) || tacho_wrapper=
  if [ -f "$tacho_wrapper" ] && [ -r "$tacho_wrapper" ] && IFS= read -r -n 2 tacho_start <"$tacho_wrapper" &&
     [ "$tacho_start" = '#!' ] && mapfile -n 5000 tacho_lines <"$tacho_wrapper" 2>/dev/null &&
     [[ "${tacho_lines[*]-}" =~ $'\n'[[:space:]]*nxf_launch[[:space:]]*\(\) ]]; then
    export NXF_SCRATCH
    export NXF_TASK_WORKDIR="${NXF_TASK_WORKDIR:-$PWD}"
    tacho_task=$PWD
    [ -f .command.run ] || tacho_task=$NXF_TASK_WORKDIR
    tacho_own_subshell='\([[:blank:]]*nxf_launch[[:blank:]]*(\)|\|[^|]|[0-9]*>[^;&|()]*\))'
    nxf_launch() {
      if [ -x )" +
         tacho + R"( ]; then
        set -- )" +
         tacho + R"( run -q --fail-open -o nextflow:.command.trace -- /bin/bash "$tacho_wrapper" nxf_launch
        if [[ $BASH_SUBSHELL -gt 0 && "${tacho_lines[${BASH_LINENO[0]:-1} - 1]-}" =~ $tacho_own_subshell ]]; then
          TACHO_NXF_TASK_WORKDIR=$tacho_task exec "$@"
        fi
        TACHO_NXF_TASK_WORKDIR=$tacho_task "$@"
      else
        /bin/bash "$tacho_wrapper" nxf_launch
      fi
    }
  fi
  unset tacho_start
fi
)";
}

Result<std::string> snakemake_hook() {
  const std::string shells = parent_folder(parent_folder(own_program())) + "/libexec/tacho/shell";
  if (!file_exists(shells + "/bash"))
    return Error{Code::not_available, "the folder of recording shells is missing", shells,
                 "install tacho by cmake --install or a package"};
  return "export PATH=" + shell_words({shells}) + "\"${PATH:+:$PATH}\"\n";
}

}  // namespace

int hook_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  constexpr const char* kUsage = R"x(write eval "$(tacho hook nextflow)", or snakemake)x";
  const std::vector<std::string>& words = started.line.words;
  if (words.size() != 1) return refuse({Code::invalid, "hook takes the name of one engine", "", kUsage});
  if (words[0] == "nextflow") return print(nextflow_hook());
  if (words[0] != "snakemake") return refuse({Code::invalid, "there is no hook for this engine", words[0], kUsage});
  const auto text = snakemake_hook();
  return text ? print(*text) : refuse(text.error());
}

}  // namespace tacho
