#include "cloud/discover_command.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/exit_status.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cloud/cloud.h"
#include "cloud/describe.h"
#include "cloud/host_gpu.h"
#include "cloud/host_identity.h"
#include "discover/cgroups.h"
#include "discover/host.h"
#include "model/fields.h"
#include "os/environment.h"
#include "os/standard_streams.h"

namespace tacho {
namespace {

constexpr std::string_view kHelp =
    "Examples:\n"
    "  tacho discover                    what a run would tell of this machine\n"
    "  tacho discover --json --no-cloud  for a program, and no metadata service is asked\n\n"
    "Usage: tacho discover [--json] [--hide FIELD,...] [--no-cloud] [-c FILE]\n"
    "Print what is known of the host and its cloud, as the start of a run would send it.\n\n"
    "  --json            one JSON object\n"
    "  --hide FIELD,...  leave these fields out; also host, cloud, private [TACHO_HIDE]\n"
    "  --no-cloud        ask no metadata service [TACHO_NO_CLOUD]\n"
    "  -c, --config FILE what it hides is hidden here, too [TACHO_CONFIG]\n"
    "  -v, --verbose     say why something is missing\n";

struct Request {
  bool json = false, no_cloud = false, help = false;
  std::vector<std::string> hidden;
};

constexpr auto kDiscoverFlags = std::to_array<Flag>({{"json", Flag::Kind::bare},
                                                     {"hide"},
                                                     {"no-cloud", Flag::Kind::bare},
                                                     {"verbose", Flag::Kind::bare, 'v'},
                                                     {"help", Flag::Kind::bare, 'h'}});

Status hide(Request& request, std::string_view words) {
  for (const std::string_view part : split(words, ',')) {
    const std::string_view word = trim(part);
    if (word.empty()) continue;
    std::vector<std::string> fields = fields_named(word);
    if (fields.empty()) {
      const std::string_view near = nearest(word, field_words());
      return Error{Code::invalid, "unknown field", std::string(word),
                   near.empty() ? "name host_* or cloud_* fields, or host, cloud, private"
                                : "did you mean " + std::string(near) + "?"};
    }
    request.hidden.insert(request.hidden.end(), fields.begin(), fields.end());
  }
  return ok();
}

Result<Request> parse(std::span<const std::string> arguments) {
  Request request;
  if (Status status = hide(request, environment("TACHO_HIDE")); !status) return status.error();
  for (FlagReader reader(arguments, kDiscoverFlags, {}); reader.next();) {
    if (reader->kind == FlagWord::Kind::no_value)
      return Error{Code::invalid, "--hide needs a value", "", "write --hide FIELD,..."};
    if (reader->kind != FlagWord::Kind::flag)
      return Error{Code::invalid, "unknown argument", std::string(reader->word),
                   nearest_flag(reader->name, kDiscoverFlags, "see tacho discover --help")};
    const std::string_view name = reader->flag->name;
    if (name == "json") request.json = true;
    if (name == "no-cloud") request.no_cloud = true;
    if (name == "help") request.help = true;
    if (name == "verbose") log::set_level(log::Level::verbose);
    if (name != "hide") continue;
    if (const Status status = hide(request, reader->value); !status) return status.error();
  }
  return request;
}

std::string as_json(std::span<const DescribedField> fields) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  write_fields(json, fields);
  json.end_object();
  return std::string(out.view()) + "\n";
}

std::string as_text(std::span<const DescribedField> fields) {
  size_t width = 0;
  for (const DescribedField& field : fields) width = std::max(width, field.name.size());
  std::string text;
  for (const DescribedField& field : fields) {
    text += field.name;
    text.append(width + 2 - field.name.size(), ' ');
    text += field_text(field) + "\n";
  }
  return text;
}

}  // namespace

int discover_command(std::span<const std::string> arguments) {
  const auto request = parse(arguments);
  if (!request) {
    log::error(request.error().message());
    return kRefused;
  }
  if (request->help) return print(kHelp);
  const Roots roots = Roots::from_environment();
  const Cloud cloud = discover_cloud(roots, {request->no_cloud, request->hidden, {}, false});
  Host host = discover_host(roots);
  set_allocation(host, find_limits(roots, find_cgroups(roots, 0), 0, host.host_memory_mib.value_or(0) * kMiB));
  find_host_gpu(roots, host);
  settle_host_id(host, cloud, roots);
  const std::vector<DescribedField> fields = describe_machine(host, cloud, request->hidden);
  return print(request->json ? as_json(fields) : as_text(fields));
}

}  // namespace tacho
