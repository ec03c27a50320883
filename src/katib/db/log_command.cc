#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "katib/collect/go_flags.h"
#include "katib/db/commands.h"
#include "katib/db/store_place.h"
#include "katib/model/time_stamp.h"
#include "katib/rpc/clients.h"
#include "os/clock.h"
#include "os/standard_streams.h"

namespace tacho {
namespace {

constexpr const char* kLogHelp = R"(Examples:
  tacho-katib log my-trial                                 from the file that `tacho-katib db` uses by itself
  tacho-katib log my-trial --server katib-db-manager.kubeflow:6789 --metric loss
  tacho-katib log my-trial --store katib.db --since 10m --json

Usage: tacho-katib log TRIAL [OPTIONS]
Prints what is stored for a trial.

  --server HOST:PORT     ask a DB manager, tacho's or Katib's
  --store FILE|URL       read a store: SQLite file, or postgres://USER@HOST/DATABASE (see tacho-katib db --help)
  --metric NAME          only this metric
  --since T, --until T   RFC 3339 (2026-11-15T09:30:00Z), or a duration before now (10m); both inclusive
  --json                 a JSON array of {"time_stamp", "name", "value"}
  --timeout DURATION     of the call (60s)
  --tls, --tls-ca FILE, --tls-cert FILE, --tls-key FILE, --tls-server-name NAME, --auth-token-file FILE   for --server
)";
constexpr auto kLogFlags = std::to_array<GoFlag>({{"server"},
                                                  {"store"},
                                                  {"metric"},
                                                  {"since"},
                                                  {"until"},
                                                  {"json", true},
                                                  {"timeout"},
                                                  {"tls", true},
                                                  {"tls-ca"},
                                                  {"tls-cert"},
                                                  {"tls-key"},
                                                  {"tls-server-name"},
                                                  {"auth-token-file"}});

struct LogOptions {
  LogQuery query;
  RpcOptions rpc;
  std::string store;
  bool json = false;
};

int usage(const std::string& message) {
  return std::fprintf(stderr, "tacho-katib log: %s\n\n%s", message.c_str(), kLogHelp), 2;
}

// "2026-11-15T09:30:00Z", or "10m": before now.
std::optional<int64_t> point_in_time_us(const std::string& text) {
  if (const auto time_us = parse_time_stamp_us(text)) return time_us;
  const auto ago_ns = parse_go_duration_ns(text);
  if (!ago_ns) return std::nullopt;
  return (system_clock().realtime_ns() - *ago_ns) / kNsPerUs;
}

Result<LogOptions> read_log_options(const GivenFlags& given) {
  LogOptions options;
  for (const auto& [name, value] : given.flags) {
    if (name == "server") options.rpc.address = value;
    if (name == "store") options.store = value;
    if (name == "metric") options.query.metric = value;
    if (name == "json") options.json = parse_go_bool(value);
    if (name == "tls") options.rpc.tls = parse_go_bool(value);
    if (name == "tls-ca") options.rpc.ca_file = value;
    if (name == "tls-cert") options.rpc.cert_file = value;
    if (name == "tls-key") options.rpc.key_file = value;
    if (name == "tls-server-name") options.rpc.server_name = value;
    if (name == "auth-token-file") options.rpc.token_file = value;
    if (name == "since" || name == "until") {
      auto& bound = name == "since" ? options.query.from_us : options.query.to_us;
      bound = point_in_time_us(value);
      if (!bound)
        return Error{Code::invalid, "no point in time", "-" + name + " " + value,
                     "2026-11-15T09:30:00Z, or 10m for ten minutes ago"};
    }
    if (name == "timeout") {
      const auto ns = parse_go_duration_ns(value);
      if (!ns || *ns <= 0) return Error{Code::invalid, "no duration", "-timeout " + value, "for example 60s"};
      options.rpc.timeout_ms = *ns / kNsPerMs;
    }
  }
  if (!options.rpc.address.empty() && !options.store.empty()) {
    return Error{Code::invalid, "two places to read from", "--server and --store", "give one of them"};
  }
  return options;
}

Status from_server(const LogOptions& options, std::vector<MetricRow>& rows) {
  const auto text = [](const std::optional<int64_t>& time_us) {
    return time_us ? std::string(TimeStampText(*time_us).wire()) : std::string();
  };
  DbClient client(options.rpc);
  const LogQuery& query = options.query;
  const RpcStatus status = client.get(query.trial, query.metric, text(query.from_us), text(query.to_us), rows);
  if (status.ok()) return ok();
  return Error{Code::io, std::string("the call to the DB manager ended with ") + rpc_code_name(status.code),
               status.message, "check --server"};
}

Status from_store(const LogOptions& options, std::vector<MetricRow>& rows) {
  const Result<StorePlace> place = find_store(options.store);
  if (!place) return place.error();
  const Result<std::unique_ptr<ObservationStore>> store = open_store(*place, true);
  if (!store) return store.error();
  return (*store)->read(options.query, [&](int64_t time_us, std::string_view metric, std::string_view value) {
    MetricRow row;
    row.time_stamp = TimeStamp(TimeStampText(time_us).wire(), time_us);
    row.name = metric;
    row.value = value;
    rows.push_back(std::move(row));
  });
}

// Control characters of somebody's log must not steer the reader's terminal.
std::string printable(std::string_view text) {
  std::string out = valid_utf8(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }, '?');
  return out;
}

std::string table(const std::vector<MetricRow>& rows) {
  size_t time_width = 4, name_width = 6;
  for (const MetricRow& row : rows) {
    time_width = std::max(time_width, row.time_stamp.size());
    name_width = std::max(name_width, count_characters(printable(row.name)));
  }
  std::string out;
  const auto line = [&](std::string_view time, std::string_view name, std::string_view value) {
    out.append(time).append(time_width - time.size() + 2, ' ');
    out.append(name).append(name_width - count_characters(name) + 2, ' ');
    out.append(value).append(1, '\n');
  };
  line("TIME", "METRIC", "VALUE");
  for (const MetricRow& row : rows) line(printable(row.time_stamp.text()), printable(row.name), printable(row.value));
  return out;
}

std::string json(const std::vector<MetricRow>& rows) {
  Writer out;
  JsonWriter json(out, true);
  json.array();
  for (const MetricRow& row : rows) {
    json.object()
        .key("time_stamp")
        .value(row.time_stamp.text())
        .key("name")
        .value(row.name)
        .key("value")
        .value(row.value)
        .end_object();
  }
  json.end_array();
  out.put('\n');
  return std::string(out.view());
}

}  // namespace

int log_command(std::span<const std::string> words) {
  std::string trial;
  // It comes first, or last where the word is no flag's value.
  if (!words.empty() && !words.front().starts_with('-')) {
    trial = words.front();
    words = words.subspan(1);
  } else if (!words.empty() && !words.back().starts_with('-') &&
             parse_go_flags(words.first(words.size() - 1), kLogFlags)) {
    trial = words.back();
    words = words.first(words.size() - 1);
  }
  const Result<GivenFlags> given = parse_go_flags(words, kLogFlags);
  if (!given) return usage(given.error().message());
  if (given->help) return std::fputs(kLogHelp, stdout) < 0 ? 1 : 0;
  Result<LogOptions> options = read_log_options(*given);
  if (!options) return usage(options.error().message());
  if (trial.empty()) return usage("which trial? its name comes first: tacho-katib log TRIAL");
  options->query.trial = trial;

  std::vector<MetricRow> rows;
  const Status read = options->rpc.address.empty() ? from_store(*options, rows) : from_server(*options, rows);
  if (!read) return std::fprintf(stderr, "tacho-katib log: %s\n", read.error().message().c_str()), 1;
  if (rows.empty()) std::fprintf(stderr, "tacho-katib log: nothing is stored for %s\n", printable(trial).c_str());
  const std::string text = options->json ? json(rows) : rows.empty() ? std::string() : table(rows);
  return print(text);
}

}  // namespace tacho
