#include "cromwell/analyze_bigquery.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "cromwell/analyze_row.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr std::string_view kScheme = "bq://";
constexpr int kPatience = 5;

Error refused(const BqVerdict& verdict, const std::string& table) {
  return {Code::io, "BigQuery does not give the table: " + verdict.message, table,
          verdict.what == BqClass::not_found ? "check project, dataset and table"
                                             : "reading needs bigquery.tables.get, .getData and bigquery.jobs.create"};
}

// As often as it takes within reason.
template <class Ask>
BqVerdict ask_again(GoogleToken& token, const Ask& ask) {
  Backoff backoff;
  for (int tries = 1;; ++tries) {
    const BqVerdict verdict = ask();
    const bool temporary = verdict.what == BqClass::retry || verdict.what == BqClass::quota;
    if (verdict.what == BqClass::token && tries == 1) token.refuse();
    else if (!temporary || tries >= kPatience) return verdict;
    else
      system_clock().wait({}, system_clock().monotonic_ns() + backoff.next_ms(0.5, verdict.retry_after_ms) * kNsPerMs);
  }
}

}  // namespace

std::optional<Result<BqPlace>> parse_bq_place(std::string_view text) {
  if (!text.starts_with(kScheme)) return std::nullopt;
  const std::string_view rest = text.substr(kScheme.size());
  const size_t dot = rest.rfind('.');  // a project may have dots of its own: example.com:project
  if (dot == std::string_view::npos)
    return Error{Code::invalid, "this names no dataset", std::string(text), "write bq://PROJECT.DATASET"};
  BqPlace place{std::string(rest.substr(0, dot)), std::string(rest.substr(dot + 1))};
  if (const Status good = check_bq_name("project", place.project); !good) return good.error();
  if (const Status good = check_bq_name("dataset", place.dataset); !good) return good.error();
  return place;
}

Status BqTableSource::open(const BqPlace& place) {
  BqSettings bq;
  bq.project = place.project;
  bq.dataset = place.dataset;
  bq.endpoint = settings_.endpoint;
  if (!token_) token_ = std::make_unique<GoogleToken>(http_, settings_.auth);
  auto client = BigQuery::open(http_, std::move(bq), token_.get());
  if (!client) return client.error();
  client_.emplace(std::move(*client));
  return ok();
}

Result<std::vector<BqField>> BqTableSource::fields_of(const std::string& table) {
  BqTableInfo info;
  const BqVerdict verdict = ask_again(*token_, [&] { return client_->get_table(table, info); });
  if (verdict.what != BqClass::done) return refused(verdict, table);
  return parse_bq_fields(info.fields_json);
}

Status BqTableSource::allow(const std::string& sql, const std::string& table) {
  int64_t bytes = 0;
  const BqVerdict verdict = ask_again(*token_, [&] { return client_->dry_run(sql, bytes); });
  if (verdict.what != BqClass::done) return refused(verdict, table);
  bytes_ += bytes;
  if (bytes_ <= settings_.most_bytes) return ok();
  return Error{Code::invalid,
               "the queries would read " + human_bytes(static_cast<double>(bytes_)) +
                   ", which BigQuery bills, more than " + human_bytes(static_cast<double>(settings_.most_bytes)),
               table, "ask for fewer --days, allow more with --max-bytes, or export the tables"};
}

Status BqTableSource::read(const BqPlace& place, const std::string& table, std::string_view time_column,
                           std::span<const std::string_view> wanted, const TableSink& sink, TableCount& count) {
  if (const Status good = check_bq_name("table", table); !good) return good.error();
  if (const Status opened = open(place); !opened) return opened.error();
  const auto fields = fields_of(table);
  if (!fields) return fields.error();
  std::vector<PageColumn> columns;
  std::string names;
  for (const BqField& field : *fields) {
    if (std::find(wanted.begin(), wanted.end(), lower(field.name)) == wanted.end()) continue;
    PageColumn column{lower(field.name), {}};
    for (const BqField& member : field.fields) column.members.push_back(lower(member.name));
    columns.push_back(std::move(column));
    (names += names.empty() ? "`" : ", `").append(field.name).append("`");
  }
  if (columns.empty())
    return Error{Code::invalid, "this table has none of the columns that are needed", table, "is it the right one?"};
  const std::string sql = "SELECT " + names + " FROM `" + place.project + "." + place.dataset + "." + table +
                          "` WHERE `" + std::string(time_column) + "` >= TIMESTAMP('" +
                          std::string(IsoTime(settings_.since_ns).date()) + "')";
  if (const Status allowed = allow(sql, table); !allowed) return allowed.error();
  PageReader reader(std::move(columns));
  uint64_t number = 0;
  sink.begin_row();
  const auto end_of_row = [&] {
    ++number;
    const std::string why = sink.end_row();
    if (why.empty()) ++count.rows;
    else count.fault(table + ": row " + std::to_string(number) + ": " + why);
    sink.begin_row();
  };
  const BqVerdict verdict = ask_again(*token_, [&] {
    // Once rows were taken a query is not begun again: they would count twice.
    BqVerdict answer = client_->query_pages(
        sql, settings_.most_bytes, [&](std::string_view page) { return reader.read(page, *sink.cells, end_of_row); });
    if (number > 0 && answer.what != BqClass::done) answer.what = BqClass::blocked;
    return answer;
  });
  if (verdict.what != BqClass::done) return refused(verdict, table);
  return ok();
}

}  // namespace tacho
