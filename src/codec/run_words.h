// The words by which run.json names states, signals and metadata fields; the writer and the reader share them.
// Constant data, thread-safe.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "model/run.h"

namespace tacho {

std::string_view state_word(RunState state);
inline constexpr size_t kLongestStateWord = 11;  // "interrupted"
std::optional<RunState> parse_state(std::string_view word);
std::string_view signal_word(int signal);  // "SIGKILL"; empty for real-time signals and what is none

struct MetadataField {
  std::string_view name;
  std::string Metadata::*member;
};
inline constexpr std::array<MetadataField, 11> kMetadataFields{{
    {"job_name", &Metadata::job_name},
    {"project_name", &Metadata::project_name},
    {"stage_name", &Metadata::stage_name},
    {"task_name", &Metadata::task_name},
    {"team", &Metadata::team},
    {"env", &Metadata::env},
    {"language", &Metadata::language},
    {"orchestrator", &Metadata::orchestrator},
    {"executor", &Metadata::executor},
    {"external_run_id", &Metadata::external_run_id},
    {"container_image", &Metadata::container_image},
}};

}  // namespace tacho
