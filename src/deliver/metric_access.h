// Credentials for the receivers of metrics, and where they may go: our own settings say both, a file in the spool has
// no say. Thread-safe (no state).
#pragma once
#include <span>
#include <string>

#include "deliver/metric_meta.h"
#include "net/http/http.h"

namespace tacho {

// Headers with what the variables hold, or why they cannot be sent.
Result<Headers> metric_credentials(bool otlp);
// Takes them out of the environment that the system shows of this process to all others of the same user.
void hide_metric_secrets();
// PEM of OTEL_EXPORTER_OTLP_CERTIFICATE; empty when it is unset.
Result<std::string> otlp_certificate();

// Whether credentials for this protocol may go to the address: it is one of our own outputs (`places`), or on the host
// that TACHO_PROMETHEUS_URL, TACHO_OTLP_URL, TACHO_OUTPUT or OTEL_EXPORTER_OTLP_* names; or there are none to send.
bool may_send_to(const std::string& url, bool otlp, std::span<const std::string> places);
// For a person, of a run that is left alone.
std::string metrics_are_elsewhere(const SpoolMeta& meta);

}  // namespace tacho
