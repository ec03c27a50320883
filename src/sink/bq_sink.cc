#include "sink/bq_sink.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "model/bigquery.h"
#include "os/environment.h"
#include "spool/bq_record.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr std::string_view kScheme = "bq://";
constexpr const char* kForm = "write bq://PROJECT.DATASET or bq://PROJECT.DATASET.TABLE";

struct Leading {
  std::string_view name;
  BqType type;
  BqMode mode;
};
// In front of the columns that are measured.
constexpr auto kLeading = std::to_array<Leading>({
    {"timestamp", BqType::timestamp, BqMode::required},
    {"run_id", BqType::string, BqMode::required},
    {"seq", BqType::integer, BqMode::required},
    {"job_name", BqType::string, BqMode::nullable},
    {"host_name", BqType::string, BqMode::nullable},
});

// Counts are INTEGER, the others FLOAT; MiB also where they are printed whole: one table takes rows of both kinds.
BqType type_of(const Column& column) {
  return column.decimals == 0 && column.unit != "MiB" ? BqType::integer : BqType::floating;
}

bool is_name(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           more.find(c) != std::string_view::npos;
  });
}

Status read_options(std::string_view query, BqTarget& target) {
  for (const std::string_view pair : split(query, '&')) {
    const std::string_view name = pair.substr(0, pair.find('='));
    const std::string_view value = name.size() < pair.size() ? pair.substr(name.size() + 1) : std::string_view{};
    const auto flag = parse_bool(value);
    if (name == "add_columns" && flag) target.add_columns = *flag;
    else if (name == "create" && (value == "never" || value == "auto")) target.create = value == "auto";
    else if (name == "location" && is_name(value, "-")) target.location = value;
    else
      return Error{Code::invalid, "this option of a bq:// output is not known", std::string(pair),
                   "add_columns=1, create=never, location=EU"};
  }
  return ok();
}

class BqSink final : public SpoolSink {
 public:
  BqSink(SpoolWriter writer, BqTarget target, const SinkOptions& options, std::string name)
      : SpoolSink(std::move(writer), {.kind = kBigQueryKind}, options, std::move(name)), bq_(std::move(target)) {
    spool_writer().set_ending(kRecordsEnding);
  }

 protected:
  void encode_header(Writer&) const override {}

  void encode(Writer& out, const Row& row) override {
    row_.clear();
    row_.put("{\"timestamp\":\"");
    row_.put(MicroTime(row.realtime_ns).view());
    row_.put("\",\"seq\":");
    row_.put_int(row.index);
    for (size_t i = 0; i < schema().size() && i < row.cells.size(); ++i) {
      const Column& column = schema()[i];
      if (column.position == 1 || is_absent(row.cells[i]) || !std::isfinite(row.cells[i])) continue;
      row_.put(",\"");
      row_.put(column.name);
      row_.put("\":");
      row_.put_fixed(row.cells[i], column.decimals);
    }
    row_.put('}');
    write_bq_record(out, 'T', row.realtime_ns / kNsPerUs, row_.view());
  }

  void encode_meta(Writer& out, bool) const override {
    const Run& run = *this->run();
    JsonWriter json(out, true);
    json.object();
    json.key(meta::kVersion).integer(kSpoolFormat).key(meta::kTachoVersion).value(run.version);
    json.key(meta::kKind)
        .value(this->target().kind)
        .key(meta::kForm)
        .value(meta::kFormRun)
        .key(meta::kRun)
        .value(run.id);
    json.key(meta::kDestination).object();
    json.key(meta::kProject)
        .value(bq_.project)
        .key(meta::kDataset)
        .value(bq_.dataset)
        .key(meta::kLocation)
        .value(bq_.location);
    // Where the rows belong, empty: to Google's; a token goes only where the deliverer's own settings say.
    json.key(meta::kEndpoint).value(environment("BIGQUERY_EMULATOR_HOST"));
    json.key(meta::kTables).object().key(meta::kSamplesTable).value(bq_.table).end_object();
    json.key(meta::kCreate)
        .value(bq_.create ? meta::kCreateAuto : meta::kCreateNever)
        .key(meta::kAddColumns)
        .value(bq_.add_columns);
    json.end_object();
    json.key(meta::kGoogle).object().key(meta::kNoCloud).value(this->target().no_cloud).end_object();
    // The folder's name is new for every run on every machine; a run's id is not.
    json.key(meta::kScope).array().value(last_part(folder())).value(run.id).end_array();
    json.key(meta::kConstant).object();
    json.key("run_id").value(run.id);
    if (!run.metadata.job_name.empty() && !is_hidden(run, "job_name"))
      json.key("job_name").value(run.metadata.job_name);
    if (run.host.host_hostname && !is_hidden(run, "host_name") && !is_hidden(run, "host_hostname"))
      json.key("host_name").value(*run.host.host_hostname);
    json.end_object();
    json.key(meta::kColumns).array();
    for (const Leading& column : kLeading) put_column(json, column.name, column.type, column.mode);
    for (const Column& column : schema())
      if (column.position != 1) put_column(json, column.name, type_of(column), BqMode::nullable);
    json.end_array();
    json.end_object();
    out.put('\n');
  }

 private:
  static void put_column(JsonWriter& json, std::string_view name, BqType type, BqMode mode) {
    json.object()
        .key("name")
        .value(name)
        .key("type")
        .value(bq_type_name(type))
        .key("mode")
        .value(bq_mode_name(mode))
        .end_object();
  }

  BqTarget bq_;
  Writer row_;
};

}  // namespace

Result<BqTarget> parse_bq_uri(const std::string& uri) {
  std::string_view rest = std::string_view(uri).substr(std::min(uri.size(), kScheme.size()));
  BqTarget target;
  if (const size_t question = rest.find('?'); question != std::string_view::npos) {
    if (const Status read = read_options(rest.substr(question + 1), target); !read) return read.error();
    rest = rest.substr(0, question);
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  // "example.com:project" has dots of its own in front of the colon.
  const size_t colon = rest.find(':');
  const size_t dot = rest.find('.', colon == std::string_view::npos ? 0 : colon);
  if (dot == std::string_view::npos) return Error{Code::invalid, "this names no dataset", uri, kForm};
  target.project = rest.substr(0, dot);
  rest.remove_prefix(dot + 1);
  const size_t next = rest.find('.');
  target.dataset = rest.substr(0, next);
  if (next != std::string_view::npos) target.table = rest.substr(next + 1);
  if (!is_name(target.project, "-:.")) return Error{Code::invalid, "this is no project of Google Cloud", uri, kForm};
  if (!is_name(target.dataset, ""))
    return Error{Code::invalid, "this is no name of a BigQuery dataset", uri, "letters, digits and _"};
  if (!is_name(target.table, "-"))
    return Error{Code::invalid, "this is no name of a BigQuery table", uri, "letters, digits, _ and -"};
  return target;
}

Result<std::unique_ptr<Sink>> open_bq_sink(const std::string& destination, const SinkOptions& options) {
  auto target = parse_bq_uri(destination);
  if (!target) return target.error();
  auto writer = make_spool();
  if (!writer) return writer.error();
  return std::unique_ptr<Sink>(std::make_unique<BqSink>(std::move(*writer), std::move(*target), options, destination));
}

}  // namespace tacho
