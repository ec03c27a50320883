// What tacho and tacho-deliver agree on, each word once: how the deliverer is started, what goes through the pipes, the
// kinds of spooled runs, the members of meta.json and state.json, and where the service is. The writers are sink/,
// monitor/ and engine/, the reader is deliver/. Files and their names: spool/layout.h. Thread-safe (no state).
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tacho {

// tacho-deliver --spool-run FOLDER … with the pipe as the first descriptor after stderr.
inline constexpr std::string_view kSpoolRunFlag = "--spool-run";
inline constexpr int kControlDescriptor = 3;

// tacho-deliver servers …: the advice is on stdin, and the options are those of tacho advise, as the person typed them.
inline constexpr std::string_view kServersCommand = "servers";

// The options of tacho deliver that have no value: the word behind one may be the name of a run.
namespace delivering {
inline constexpr std::string_view kAll = "all", kJson = "json", kFollow = "follow";
inline constexpr std::array kBareFlags{kAll, kJson, kFollow};
}  // namespace delivering

// To the deliverer, a line each: the letter and what belongs to it. The pipe's end without `quit` means that tacho was
// killed.
namespace control {
inline constexpr char kSecret = 'V';  // NAME=VALUE of metric_secrets(), before the token
inline constexpr char kPlace = 'A';   // an address of this run's own outputs, to which these may go; before the token
inline constexpr char kToken = 'T';   // of the service, perhaps empty; always there, the last of the greeting
inline constexpr char kEnd = 'E';     // the run is over; milliseconds that are left to send the rest
inline constexpr char kQuit = 'Q';    // nobody waits any more
inline constexpr std::string_view kNewsLine = "S\n";  // a segment was sealed, or meta.json changed
inline constexpr std::string_view kQuitLine = "Q\n";
std::string end_line(int64_t budget_ms);
}  // namespace control

// From the deliverer, a line each; all others are warnings.
inline constexpr std::string_view kMustSayMark = "! ";               // said even when quiet
inline constexpr std::string_view kHttpTraceMark = "tacho: http ";   // TACHO_DEBUG_HTTP: passed on as it is
inline constexpr std::string_view kPreemptedMessage = "@preempted";  // the machine is being taken away
inline constexpr std::string_view kRefusedMessage = "@refused";      // a server refused samples: they are kept

// "kind" of meta.json: where the run goes. Runs of older versions have none: their address then tells a bucket from a
// service.
inline constexpr std::string_view kServiceKind = "service", kBucketKind = "bucket", kBigQueryKind = "bigquery",
                                  kPrometheusKind = "prometheus", kOtlpKind = "otlp";

// "version" of meta.json and state.json. A file with a higher one was written by a newer tacho, which alone knows what
// it means: it is left alone.
inline constexpr int64_t kSpoolFormat = 1;

// Members of meta.json, written by tacho.
namespace meta {
inline constexpr std::string_view kVersion = "version", kTachoVersion = "tacho_version", kKind = "kind", kRun = "run";
// Of the service and a bucket.
inline constexpr std::string_view kApiUrl = "api_url", kBucketUri = "bucket_uri", kS3Endpoint = "s3_endpoint",
                                  kDataSource = "data_source", kStoreFolder = "store_folder", kHeader = "header",
                                  kNoCloud = "no_cloud", kHidden = "hidden", kHostKnown = "host_known",
                                  kHostIdSettled = "host_id_settled", kStart = "start", kOutcome = "outcome",
                                  kRunStatus = "run_status", kExitCode = "exit_code", kFinishedAt = "finished_at";
inline constexpr std::string_view kRunFinished = "finished", kRunFailed = "failed";  // of kRunStatus
// Of BigQuery (spool/bq_record.h shows them together).
inline constexpr std::string_view kForm = "form", kFormMonitor = "monitor", kFormRun = "run", kStrict = "strict",
                                  kEnded = "ended", kDestination = "destination", kProject = "project",
                                  kDataset = "dataset", kLocation = "location", kEndpoint = "endpoint",
                                  kTables = "tables", kRuntimeTable = "R", kMetricsTable = "M", kSamplesTable = "T",
                                  kCreate = "create", kCreateAuto = "auto", kCreateNever = "never",
                                  kAddColumns = "add_columns", kBatchRows = "batch_rows", kGoogle = "google",
                                  kScope = "scope", kConstant = "constant", kColumns = "columns", kGiven = "given",
                                  kFallback = "fallback", kTask = "task", kMetrics = "metrics", kBootId = "boot_id";
// Of metrics, in the object `series`; the address is kApiUrl.
inline constexpr std::string_view kSeries = "series", kWithRunId = "with_run_id", kSystem = "system",
                                  kJsonBody = "json", kGzip = "gzip", kStartedMs = "started_ms", kLabels = "labels",
                                  kInfo = "info", kCpuRequest = "cpu_request_cores",
                                  kMemoryRequest = "memory_request_bytes", kResource = "resource", kEnd = "end",
                                  kEndMs = "finished_ms", kMemoryPeak = "memory_peak_bytes";
}  // namespace meta

// Members of state.json, written by tacho-deliver; some are also in the meta.json of a run that it left behind.
namespace state {
inline constexpr std::string_view kVersion = "version", kRunId = "run_id", kPrefix = "prefix", kPhase = "phase",
                                  kPhaseNew = "new", kPhaseRegistered = "registered", kPhaseFinished = "finished",
                                  kUploaded = "uploaded", kSealed = "sealed";
// Of BigQuery.
inline constexpr std::string_view kIdentity = "identity", kProject = "project", kDone = "done", kPartial = "partial",
                                  kCrc = "crc", kRows = "rows", kRepeat = "repeat", kInsertId = "insertId",
                                  kJson = "json", kReports = "reports", kRowsSent = "rows_sent",
                                  kRowsDropped = "rows_dropped";
// Of metrics.
inline constexpr std::string_view kChunks = "chunks", kDecided = "decided", kSent = "sent", kRefused = "refused",
                                  kLetterBytes = "letter_bytes", kResource = "resource";
}  // namespace state

// SENTINEL_API_URL without its trailing slash, or the default.
std::string service_url();

}  // namespace tacho
