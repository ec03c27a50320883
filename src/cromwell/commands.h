// tacho cromwell upload|serve|import|analyze: workflow metadata and old monitoring logs into BigQuery, and what the
// tables say of tasks. Exit status: 0 all is
// uploaded, 1 some of it is not, 2 the command line or the configuration makes no sense.
#pragma once
#include <span>
#include <string>

namespace tacho {

int cromwell_command(std::span<const std::string> arguments);  // behind "cromwell"

int upload_command(std::span<const std::string> arguments);
int serve_command(std::span<const std::string> arguments);
int import_command(std::span<const std::string> arguments);
int analyze_command(std::span<const std::string> arguments);

}  // namespace tacho
