// A run as a section of Markdown, for the summary of a CI job. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "export/figures.h"
#include "report/store/input.h"

namespace tacho {

// Heading, figures, phases and verdict (verdict_line()), at most 64 KiB; ends with an empty line, so that another
// section may follow.
std::string markdown_section(const JobFigures& job, std::string_view verdict);

// Of a stored run, with the verdict of its rows.
std::string markdown_of(const Input& input);

}  // namespace tacho
