#include "cloud/servers_command.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/exit_status.h"
#include "base/flags.h"
#include "base/json_bounds.h"
#include "base/log.h"
#include "base/text.h"
#include "cloud/keeper.h"
#include "cloud/values.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/standard_streams.h"

namespace tacho {
namespace {

constexpr const char* kUrl = "https://keeper.sparecores.net";
constexpr size_t kMostInput = 1 << 20;
constexpr auto kServersFlags = std::to_array<Flag>({{"vendor"},
                                                    {"region"},
                                                    {"architecture"},
                                                    {"json", Flag::Kind::bare},
                                                    {"color", Flag::Kind::bare},
                                                    {"verbose", Flag::Kind::bare, 'v'}});

int64_t wanted(const Json& advice, const char* key) {
  const auto found = advice.find("advice");
  if (found == advice.end() || !found->is_object()) return 0;
  const auto sizing = found->find(key);
  if (sizing == found->end() || !sizing->is_object()) return 0;
  const auto value = sizing->find("advised");
  return value != sizing->end() && value->is_number_integer() ? value->get<int64_t>() : 0;
}

std::string format(const char* pattern, double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

Json as_json(const Server& server) {
  Json out{{"vendor_id", server.vendor},
           {"server_id", server.id},
           {"api_reference", server.reference},
           {"name", server.name}};
  if (server.vcpus) out["vcpus"] = *server.vcpus;
  if (server.memory_mib) out["memory"] = *server.memory_mib;
  if (server.gpus) out["gpu"] = *server.gpus;
  if (server.vram_mib) out["vram"] = *server.vram_mib;
  if (server.usd_per_hour) out["usd_per_hour"] = *server.usd_per_hour;
  if (server.spot_usd_per_hour) out["spot_usd_per_hour"] = *server.spot_usd_per_hour;
  if (!server.region.empty()) out["region_id"] = server.region;
  return out;
}

// "  server     aws t4g.nano  ($0.0042 an hour on demand; 2 vCPUs, 0.5 GiB)"
std::string as_text(const Server& server, bool first, bool color) {
  std::string why =
      server.usd_per_hour ? "$" + format("%.4g", *server.usd_per_hour) + " an hour on demand" : "price unknown";
  if (!server.region.empty()) why += " in region " + server.region;
  if (server.vcpus) why += "; " + std::to_string(*server.vcpus) + (*server.vcpus == 1 ? " vCPU" : " vCPUs");
  if (server.memory_mib) why += ", " + format("%.4g", static_cast<double>(*server.memory_mib) / 1024) + " GiB";
  if (server.gpus.value_or(0) > 0) why += ", " + std::to_string(*server.gpus) + (*server.gpus == 1 ? " GPU" : " GPUs");
  const std::string name = server.vendor + " " + server.name;
  const std::string label = first ? "server    " : "          ";
  return harmless_text("  " + label + " " + (color ? "" : name)) +
         (color ? "\x1b[1m" + harmless_text(name) + "\x1b[0m" : "") + "  (" + harmless_text(why) + ")\n";
}

}  // namespace

int servers_command(std::span<const std::string> arguments) {
  ServerChoice choice;
  bool json = false, color = false;
  for (FlagReader reader(arguments, kServersFlags, {}); reader.next();) {
    if (reader->kind != FlagWord::Kind::flag)
      return log::error("this is for tacho itself; see tacho advise --help"), kRefused;
    const std::string_view name = reader->flag->name;
    if (name == "json") json = true;
    if (name == "color") color = true;
    if (name == "verbose") log::set_level(log::Level::verbose);
    if (name == "vendor") choice.vendor = reader->value;
    if (name == "region") choice.region = reader->value;
    if (name == "architecture") choice.architecture = reader->value;
  }
  const auto input = read_whole_file("/dev/stdin", kMostInput);
  Json advice = parse_bounded<Json>(input ? std::string_view(*input) : std::string_view());
  if (!advice.is_object()) return log::error("there is no advice on stdin; write tacho advise RUN --servers"), kRefused;

  HttpClient http;
  Keeper keeper(http, environment_or("TACHO_KEEPER_URL", kUrl),
                [](int64_t ms) { ::usleep(static_cast<useconds_t>(ms * 1000)); });
  const ServerSize size{wanted(advice, "cpu"), wanted(advice, "memory"), wanted(advice, "gpu"), wanted(advice, "vram")};
  std::vector<std::string> notes;
  const auto servers = keeper.cheapest(size, choice, notes);
  if (!servers) log::warn("no prices of servers: " + servers.error().message());
  for (const std::string& note : notes) log::warn(note);
  if (json) {
    if (servers)
      for (const Server& server : *servers) advice["servers"].push_back(as_json(server));
    return print(advice.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  std::string text;
  if (servers)
    for (const Server& server : *servers) text += as_text(server, text.empty(), color);
  return print(text);
}

}  // namespace tacho
