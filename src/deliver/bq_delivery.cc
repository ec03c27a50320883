#include "deliver/bq_delivery.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "deliver/compress.h"
#include "monitor/tables/rows.h"
#include "os/environment.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kLongestPauseAtEnd_ns = 2 * kNsPerSec;
constexpr int64_t kNextBatch_ns = 10 * kNsPerMs;
constexpr int64_t kReadAgain_ns = 30 * kNsPerSec;  // at a segment that cannot be read
constexpr int kMostStuck = 3;
// The metadata server is asked again until so much is left for the rows themselves.
constexpr int64_t kForRows_ns = 2 * kNsPerSec;
constexpr int64_t kAskAgainAtEnd_ns = 250 * kNsPerMs;
constexpr size_t kFeedBytes = size_t{1} << 20;  // in memory at a time, beside one segment
constexpr uint64_t kRepeated = ~uint64_t{0};    // tag of a runtime row that goes a second time
// The runtime row itself, the first rows of metrics that go with it, and then the next ones; at the end any second one.
constexpr int64_t kReportOfRepeat = 3, kReportOfRepeatAtEnd = 2;

// "{"a":1,"b":2}" → "\"a\":1,\"b\":2,"
std::string members_of(const Json& object) {
  if (!object.is_object() || object.empty()) return {};
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.substr(1, text.size() - 2) + ",";
}

// Credentials and where they go: our own settings, which the agent hands over as variables. A file in the spool has no
// say.
GoogleAuthSettings google_settings() {
  GoogleAuthSettings google;
  google.access_token_file = environment("TACHO_GOOGLE_ACCESS_TOKEN_FILE");
  google.credentials_file = environment("TACHO_GOOGLE_CREDENTIALS");
  google.token_uri = environment("TACHO_GOOGLE_TOKEN_URI");
  return google;
}

Json merged(Json first, const Json& second) {
  for (const auto& [name, value] : second.items())
    if (!value.is_null()) first[name] = value;
  return first;
}

}  // namespace

std::string bigquery_is_elsewhere(const SpoolMeta& meta) {
  if (!meta.bq_endpoint) return {};
  const std::string meant = meta.bq_endpoint->empty() ? std::string(kGoogleBigQuery) : *meta.bq_endpoint;
  const auto ours = bq_base_url(""), theirs = bq_base_url(meant);
  if (ours && theirs && *ours == *theirs) return {};
  return "the BigQuery at " + valid_utf8(meant) +
         " and is left alone (--bq-endpoint or BIGQUERY_EMULATOR_HOST says where BigQuery is)";
}

BqDelivery::BqDelivery(SpoolRun run, Role role, Delivering& shared)
    : SpooledDelivery(std::move(run), role, shared, kRecordsEnding, kLongestPauseAtEnd_ns),
      dead_letters_(run_.folder()) {}
BqDelivery::~BqDelivery() = default;

void BqDelivery::finish(int64_t deadline_ns) {
  SpooledDelivery::finish(deadline_ns);
  ended_ns_ = now_ns();
  ask_ns_.reset();
  if (segments_) segments_->owner_ended();
  for (auto& [group, table] : tables_) table.stream->hurry();
}

Status BqDelivery::read_records() {
  const auto text = run_.meta();
  if (!text) return text.error();
  auto meta = parse_bq_meta(*text);
  if (!meta) return meta.error();
  const auto place = parse_meta(*text);
  if (!place) return place.error();
  if (const std::string whose = bigquery_is_elsewhere(*place); !whose.empty())
    return Error{Code::invalid, "the run belongs to " + whose, "", ""};
  meta_ = std::move(*meta);
  auto state = read_state(parse_bq_state);
  if (!state) return state.error();
  state_ = std::move(*state);
  meta_.settings.endpoint.clear();
  meta_.google = google_settings();
  if (environment_on("TACHO_BQ_GZIP")) meta_.settings.compress = gzip;
  meta_.google.warn = [this](const std::string& warning) { shared_.notices.warn("google", warning); };
  return ok();
}

// Who is made up would be somebody else in every row: nothing is sent before the machine is known.
Status BqDelivery::find_identity() {
  if (!state_.identity.is_null()) return ok();
  const bool monitor = meta_.form != meta::kFormRun;
  find_bq_identity(meta_, token_->metadata(), monitor && !meta_.no_cloud && is_same_machine(meta_), identity_);
  if (!identity_.open.empty() && !is_time_to_guess())
    return Error{Code::io, "the metadata server does not tell who this machine is", identity_.open,
                 "it is asked again"};
  if (!identity_.open.empty())
    shared_.notices.must("the metadata server does not tell who this machine is (" + identity_.open +
                         "); the rows go with what the machine says of itself");
  state_.identity = with_fallback(meta_, identity_.values);
  return ok();
}

Status BqDelivery::open() {
  if (const Status read = read_records(); !read) return read;
  token_.emplace(shared_.http, meta_.google, shared_.clock);
  if (role_ == Role::beside) token_->metadata().on_cancel(shared_.ending);
  if (const Status known = find_identity(); !known) return known;
  bool watch = !identity_.settled.empty() && !identity_.preemptible_known;
  watch = watch || (state_.identity.contains("preemptible") && state_.identity["preemptible"] == true);
  if (const Status found = open_project(); !found) return found;
  // Before the first row: ids must be the same after any restart.
  if (const Status written = run_.write_state(bq_state_json(state_)); !written)
    shared_.notices.warn("state", written.error().message());
  open_tables();
  const bool here = role_ == Role::beside && !ended_ && meta_.form == meta::kFormMonitor && !meta_.no_cloud;
  if (here && watch && !token_->metadata().is_dead())
    preemption_ = std::make_unique<PreemptionWatch>(meta_.google.metadata_host);
  return ok();
}

void BqDelivery::open_tables() {
  hash_ = bq_hash(meta_.scope);
  if (!meta_.runtime_table.empty())
    add_table('R', meta_.runtime_table, bq_table_spec(kBqRuntime, meta_.runtime_table),
              merged(state_.identity, meta_.task));
  if (!meta_.metrics_table.empty()) {
    Json members{{"instance_id", parse_int<int64_t>(instance_id_of(state_.identity)).value_or(0)}};
    add_table('M', meta_.metrics_table, bq_table_spec(kBqMetrics, meta_.metrics_table),
              merged(std::move(members), meta_.metrics));
  }
  if (!meta_.samples_table.empty())
    add_table('T', meta_.samples_table, {meta_.samples_table, "timestamp", meta_.samples}, meta_.constant);
  std::string groups;
  for (const auto& [group, table] : tables_) groups += group;
  segments_.emplace(run_, state_, shared_.notices, std::move(groups));
  if (ended_) segments_->owner_ended();
  opened_ = true;
}

// Beside a task whose machine goes away with it, what is not sent now never is.
bool BqDelivery::is_time_to_guess() const {
  if (!ended_ || role_ != Role::beside || deadline_ns_ == 0) return false;
  return now_ns() >= deadline_ns_ - std::min(kForRows_ns, (deadline_ns_ - ended_ns_) / 2);
}

// Flag or variable, else the machine's own, else that of the credentials.
Status BqDelivery::open_project() {
  if (state_.project.empty()) state_.project = meta_.settings.project;
  if (state_.project.empty()) state_.project = text_of(state_.identity, "project_id");
  if (state_.project.empty()) {
    const auto project = token_->project();
    if (!project) return project.error();
    state_.project = *project;
  }
  if (state_.project.empty())
    return Error{Code::invalid, "it is not known to which project the rows go", "",
                 "set PROJECT_ID, or use credentials that name a project"};
  if (meta_.form != meta::kFormRun && text_of(state_.identity, "project_id").empty())
    state_.identity["project_id"] = state_.project;
  meta_.settings.project = state_.project;
  auto client = BigQuery::open(shared_.http, meta_.settings, &*token_);
  if (!client) return client.error();
  client_.emplace(std::move(*client));
  return ok();
}

void BqDelivery::add_table(char group, const std::string& table, BqTableSpec spec, const Json& members) {
  Table entry{members_of(members),
              std::make_unique<BqStream>(*client_, std::move(spec), events_for(group, table), shared_.clock)};
  if (ended_) entry.stream->hurry();
  tables_[group] = std::move(entry);
}

BqEvents BqDelivery::events_for(char group, const std::string& table) {
  BqEvents events;
  events.accepted = [this, group](const BqRow& row) {
    if (row.tag == kRepeated) return;
    segments_->settle(row.tag);
    ++state_.sent;
    // What a new table took in its first minutes may be gone: the one row that cannot be missed goes twice.
    if (group == 'R' && tables_['R'].stream->made_table()) state_.repeat.push_back(row);
  };
  events.dropped = [this, table](const BqDropped& dropped) {
    if (dropped.row.tag == kRepeated) return;
    if (const Status kept = dead_letters_.keep(table, dropped); !kept) shared_.notices.must(kept.error().message());
    segments_->settle(dropped.row.tag);
    ++state_.dropped;
    if (!told_refused_)
      shared_.notices.must("BigQuery does not take a row of " + table + ": " + dropped.message +
                           "; such rows are kept in " + dead_letters_.last_path());
    told_refused_ = true;
  };
  events.warn = [this](const std::string& kind, const std::string& text) { shared_.notices.warn(kind, text); };
  return events;
}

// ID-INSTANCE-H-US; samples of a run of our own have no instance.
std::string BqDelivery::insert_id(char group, int64_t time_us) const {
  std::string id = group == 'R' ? "r-" : group == 'M' ? "m-" : "s-";
  if (group != 'T') id += instance_id_of(state_.identity) + "-";
  return id + hash_ + "-" + std::to_string(time_us);
}

void BqDelivery::fill(char group, Table& table) {
  if (table.stream->pending() > 0) return;
  segments_->feed(group, [&](uint64_t tag, const BqRecord& record) {
    BqRow row{tag, insert_id(group, record.time_us), "{"};
    row.json += table.prefix;
    row.json += record.row.substr(1);
    // An empty row behind a prefix: "{…,}".
    if (trim(record.row.substr(1)) == "}" && !table.prefix.empty()) row.json.erase(row.json.rfind(','), 1);
    table.stream->add(std::move(row));
    return table.stream->pending() < client_->settings().rows_per_request && table.stream->pending_bytes() < kFeedBytes;
  });
}

void BqDelivery::repeat_runtime() {
  if (state_.repeat.empty() || state_.reports < (ended_ ? kReportOfRepeatAtEnd : kReportOfRepeat)) return;
  for (BqRow& row : state_.repeat) tables_['R'].stream->add({kRepeated, std::move(row.insert_id), std::move(row.json)});
  state_.repeat.clear();
}

Step BqDelivery::proceed() {
  if (is_late()) return left_late();
  // A task's monitor bounds its spool itself.
  if (meta_.form == meta::kFormRun)
    bound_memory([this](uint32_t number) { return segments_ && segments_->is_under_way(number); }, kRecordRows);
  if (!opened_)
    if (const Status status = open(); !status) return opened_later(status.error());
  return work();
}

Step BqDelivery::opened_later(const Error& error) {
  reason_ = error.message();
  const bool later = error.code == Code::io || error.code == Code::gone;
  if (ended_ && (!later || deadline_ns_ == 0)) return left(reason_);
  if (!later) shared_.notices.warn("open", reason_);
  if (!later) return wait_until(now_ns() + kOpenAgain_ns);
  // As long as there is time; beside a task there is little of it.
  const int64_t pause_ns = ended_ && role_ == Role::beside ? kAskAgainAtEnd_ns : ask_ns_.next();
  return wait_until(now_ns() + pause_ns);
}

Step BqDelivery::work() {
  // Half a minute is left of the machine: no time for a back-off.
  if (preemption_ && preemption_->told() && !std::exchange(hurried_, true))
    for (auto& [group, table] : tables_) table.stream->hurry();
  repeat_runtime();
  int64_t wake_ns = kNever;
  bool blocked = false, busy = false;
  for (auto& [group, table] : tables_) {
    fill(group, table);
    const BqStep step = table.stream->step();
    if (!table.stream->reason().empty()) reason_ = table.stream->reason();
    blocked = blocked || step.kind == BqStep::Kind::blocked;
    busy = busy || step.kind == BqStep::Kind::wait;
    if (step.kind != BqStep::Kind::idle) wake_ns = std::min(wake_ns, step.wake_ns);
  }
  if (const Status saved = segments_->save(); !saved) shared_.notices.warn("state", saved.error().message());
  repeat_runtime();
  const bool pending =
      std::any_of(tables_.begin(), tables_.end(), [](const auto& entry) { return entry.second.stream->pending() > 0; });
  const bool empty = !pending && segments_->is_empty();
  if (ended_ && empty) return removed();
  if (const std::string why = empty || pending ? "" : segments_->stuck(); !why.empty()) {
    // At the end what was damaged has been repaired by the next look; what cannot even be read stays where it is.
    if (ended_ && ++stuck_ >= kMostStuck) return left(why + "; it is kept");
    return wait_until(std::min(wake_ns, now_ns() + (ended_ ? kNextBatch_ns : kReadAgain_ns)));
  }
  stuck_ = 0;
  // At the end there is no time to wait for rights.
  if (ended_ && blocked && !busy) return left(reason_);
  if (!blocked && !busy && !empty) return wait_until(now_ns() + kNextBatch_ns);
  return wait_until(wake_ns);
}

}  // namespace tacho
