#include "deliver/kinds.h"

#include <array>

#include "base/text.h"
#include "deliver/bq_delivery.h"
#include "deliver/bucket_delivery.h"
#include "deliver/metric_access.h"
#include "deliver/metric_delivery.h"
#include "deliver/service_delivery.h"
#include "deliver/undescribed.h"
#include "spool/contract.h"

namespace tacho {
namespace {

template <class Kind>
std::unique_ptr<Delivery> make(SpoolRun run, Role role, Delivering& shared) {
  return std::make_unique<Kind>(std::move(run), role, shared);
}

constexpr std::array kGoogleFlags{
    CredentialFlag{"--bq-endpoint", "URL", "BIGQUERY_EMULATOR_HOST",
                   "another BigQuery, such as an emulator; $BIGQUERY_EMULATOR_HOST"},
    CredentialFlag{"--access-token-file", "FILE", "TACHO_GOOGLE_ACCESS_TOKEN_FILE",
                   "a file with a token; $TACHO_GOOGLE_ACCESS_TOKEN_FILE"},
    CredentialFlag{"--credentials", "FILE", "TACHO_GOOGLE_CREDENTIALS",
                   "Google credentials; $TACHO_GOOGLE_CREDENTIALS, $GOOGLE_APPLICATION_CREDENTIALS"},
    CredentialFlag{"--token-uri", "URL", "TACHO_GOOGLE_TOKEN_URI",
                   "instead of the credentials' own token server; $TACHO_GOOGLE_TOKEN_URI"},
    CredentialFlag{"--metadata-host", "HOST", "GCE_METADATA_HOST", "of the metadata server; $GCE_METADATA_HOST"},
};

constexpr std::array kPrometheusFlags{
    CredentialFlag{"--prometheus-url", "URL", "TACHO_PROMETHEUS_URL",
                   "where the credentials of TACHO_PROMETHEUS_* go; $TACHO_PROMETHEUS_URL"},
};
constexpr std::array kOtlpFlags{
    CredentialFlag{"--otlp-url", "URL", "TACHO_OTLP_URL",
                   "where the headers of OTEL_EXPORTER_OTLP_HEADERS go; $TACHO_OTLP_URL, $OTEL_EXPORTER_OTLP_ENDPOINT"},
};

constexpr std::array kKinds{
    DeliveryKind{kServiceKind, make<ServiceDelivery>, service_is_elsewhere, false, {}},
    DeliveryKind{kBucketKind, make<BucketDelivery>, bucket_is_elsewhere, false, {}},
    DeliveryKind{kBigQueryKind, make<BqDelivery>, bigquery_is_elsewhere, true, kGoogleFlags},
    DeliveryKind{kPrometheusKind, make<MetricDelivery>, metrics_are_elsewhere, false, kPrometheusFlags},
    DeliveryKind{kOtlpKind, make<MetricDelivery>, metrics_are_elsewhere, false, kOtlpFlags},
};

}  // namespace

std::span<const DeliveryKind> delivery_kinds() { return kKinds; }

const DeliveryKind* kind_of(const SpoolMeta& meta) {
  for (const DeliveryKind& kind : kKinds)
    if (kind.name == meta.kind) return &kind;
  return nullptr;
}

std::string why_unknown(const SpoolMeta& meta) {
  if (meta.kind.empty()) return "its meta.json names no destination; its rows are in the files there";
  return "it goes to " + valid_utf8(meta.kind) + ", which only a newer tacho knows (send it with that one)";
}

const DeliveryKind* kind_of(const SpoolRun& run) {
  const auto text = run.meta();
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  return meta ? kind_of(*meta) : nullptr;
}

std::unique_ptr<Delivery> make_delivery(SpoolRun run, Role role, Delivering& shared) {
  if (const DeliveryKind* kind = kind_of(run)) return kind->make(std::move(run), role, shared);
  return std::make_unique<Undescribed>(std::move(run), role, shared);
}

void remove_delivered(SpoolRun& run, Notices& notices) {
  if (const std::string kept = run.remove(); !kept.empty())
    notices.must("the folder of a run that is done stays, because of something in it that tacho did not make: " + kept);
}

}  // namespace tacho
