#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cromwell/commands.h"
#include "cromwell/options.h"
#include "cromwell/service.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/thread.h"

namespace tacho {
namespace {

constexpr const char kServeHelp[] =
    "Examples:\n"
    "  CROMWELL_BASEURL=https://cromwell.example.org DATASET_ID=cromwell_monitoring tacho cromwell serve "
    "--oidc-audience https://tacho.example.org --oidc-email push@my-project.iam.gserviceaccount.com\n\n"
    "Usage: tacho cromwell serve [OPTIONS]\n"
    "Takes storage events (Pub/Sub push, CloudEvents, functions), bare objects and Cromwell's workflow callback as "
    "POST on any path, and\n"
    "uploads the workflow that they are about. GET /healthz answers 200.\n\n";

constexpr int kWorkers = 40;  // most of them wait; /healthz always finds one
constexpr int64_t kDrainMs = 8'000, kServicePatienceMs = 120'000;

Result<int> number(const std::string& text, const char* what, int least, int most, int otherwise) {
  if (text.empty()) return otherwise;
  const auto value = parse_int<int>(text);
  if (value && *value >= least && *value <= most) return *value;
  return Error{Code::invalid,
               std::string(what) + " is a number from " + std::to_string(least) + " to " + std::to_string(most), text,
               ""};
}

Result<CallerSettings> caller_settings(const CromwellOptions& options) {
  CallerSettings settings;
  settings.token = environment("TACHO_SERVE_TOKEN");
  wipe_environment("TACHO_SERVE_TOKEN");
  if (!options.auth_token_file.empty()) {
    const auto text = read_whole_file(options.auth_token_file, 64 * 1024);
    if (!text) return text.error();
    settings.token = trim(*text);
    if (settings.token.empty())
      return Error{Code::invalid, "the token file is empty", options.auth_token_file, "put a token into it"};
  }
  settings.audience = options.oidc_audience;
  if (!options.oidc_issuer.empty()) settings.issuer = options.oidc_issuer;
  if (!options.oidc_jwks.empty()) settings.jwks_url = options.oidc_jwks;
  for (const std::string_view email : split(options.oidc_email, ','))
    if (!trim(email).empty()) settings.emails.emplace_back(trim(email));
  if (settings.audience.empty() &&
      (!settings.emails.empty() || !options.oidc_issuer.empty() || !options.oidc_jwks.empty()))
    return Error{Code::invalid, "identity tokens need an audience", "", "add --oidc-audience"};
  // The audience is no secret, and Google makes a token for it to anybody who has an account.
  if (!settings.audience.empty() && settings.emails.empty())
    return Error{Code::invalid, "--oidc-audience without --oidc-email would let in everybody who has an account", "",
                 "add --oidc-email with the accounts that may call, as in push@PROJECT.iam.gserviceaccount.com"};
  if (!settings.audience.empty())
    if (const Status good = check_url(settings.jwks_url); !good) return good.error();
  return settings;
}

struct Plan {
  UploadSettings upload;
  SizeSettings sizes;
  CallerSettings callers;
  ServiceLimits limits;
  ServerOptions server;
};

Result<Plan> make_plan(const CromwellOptions& options) {
  Plan plan;
  const auto port = number(options.port.empty() ? environment("PORT") : options.port,
                           options.port.empty() ? "PORT" : "--port", 0, 65535, 8080);
  if (!port) return port.error();
  const auto jobs = number(options.jobs, "--jobs", 1, 32, plan.limits.jobs);
  if (!jobs) return jobs.error();
  auto callers = caller_settings(options);
  if (!callers) return callers.error();
  auto upload = upload_settings(options, true);
  if (!upload) return upload.error();
  auto sizes = size_settings(options);
  if (!sizes) return sizes.error();
  plan.upload = std::move(*upload);
  plan.sizes = std::move(*sizes);
  plan.callers = std::move(*callers);
  plan.limits.jobs = *jobs;
  plan.sizes.callers = static_cast<size_t>(*jobs);
  plan.upload.skip_existing = !options.no_skip_existing;
  plan.upload.hold_without_sizes = true;
  plan.upload.sender.patience_ms = kServicePatienceMs;
  if (!options.address.empty()) plan.server.address = options.address;
  plan.server.port = static_cast<uint16_t>(*port);
  plan.server.workers = kWorkers;
  return plan;
}

}  // namespace

int serve_command(std::span<const std::string> arguments) {
  const auto options = parse_options(kServe, arguments);
  if (!options) return log::error(options.error().message()), kBadUsage;
  if (options->help) return std::fputs((kServeHelp + options_help(kServe)).c_str(), stdout) < 0 ? 1 : 0;
  if (!options->words.empty())
    return log::error("serve takes no " + options->words[0] + " (see tacho cromwell serve --help)"), kBadUsage;
  auto plan = make_plan(*options);
  if (!plan) return log::error(plan.error().message()), exit_of(plan.error());
  if (plan->callers.open())
    log::warn(
        "anybody who reaches this port may send events; use --auth-token-file or --oidc-audience, or let the platform "
        "check callers");

  constexpr std::array kStop = {SIGTERM, SIGINT};
  SignalQueue signals(kStop);  // before any thread, which inherits the mask
  SizeLookup sizes(plan->sizes);
  WorkflowUploader uploader(std::move(plan->upload), sizes);
  CallerCheck callers(std::move(plan->callers));
  Service service([&](const std::string& id) { return uploader.upload_id(id); }, callers, plan->limits);
  auto server = HttpServer::open(plan->server, [&](const ServedRequest& request) { return service.handle(request); });
  if (!server) return log::error(server.error().message()), 1;
  std::fprintf(stderr, "tacho: listening on port %d\n", (*server)->port());
  pollfd wait{signals.fd(), POLLIN, 0};
  while (::poll(&wait, 1, -1) <= 0 || !signals.next()) {}
  // An upload that hangs must not keep the service from ending: its event was not answered and comes back.
  start_detached_thread("tacho-end", [] {
    system_clock().wait({}, system_clock().monotonic_ns() + (kDrainMs + 1'000) * kNsPerMs);
    ::_exit(0);
  });
  (*server)->stop(kDrainMs);
  return 0;
}

}  // namespace tacho
