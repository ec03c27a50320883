// docs/bigquery-columns.md: the columns of the tables that tacho makes, from the lines that also write them. Pure.
#pragma once
#include <string>

namespace tacho {

std::string bq_columns_document();

}  // namespace tacho
