// Advice for a person and for a program.
#include "base/joined.h"
#include "base/units.h"
#include "base/writer.h"
#include "model/allocation.h"
#include "report/advice/advice.h"
#include "report/store/human.h"

namespace tacho {
namespace {

std::string mib_text(double mib) { return bytes_text(mib * static_cast<double>(kMiB)); }

std::string count_text(int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

template <class Text>
void judge(AdviceLine& line, const Sizing& sizing, Text text) {
  if (sizing.state.empty() || !(sizing.asked || sizing.had)) return;
  line.state = sizing.state;
  line.judgement = sizing.asked ? "asked for " + text(*sizing.asked) : "had " + text(*sizing.had);
  if (sizing.state != "right") line.judgement += "; " + sizing.risk;
}

AdviceLine cpu_line(const Sizing& cpu) {
  if (!cpu.advised) return {"cpu", "unknown", "no run has process_cpu_usage", "", ""};
  AdviceLine line{"cpu", count_text(*cpu.advised, "core", "cores"),
                  "used " + number_text(*cpu.used) + " or less for 95 % of the time", "", ""};
  judge(line, cpu, number_text);
  return line;
}

AdviceLine memory_line(const Advice& advice) {
  const Sizing& memory = advice.memory;
  if (!memory.advised) return {"memory", "unknown", "no run has process_memory_mib", "", ""};
  const char* margin = advice.guess             ? "a guess until a run succeeds"
                       : advice.runs.size() < 3 ? "a quarter more"
                                                : "a fifth more";
  AdviceLine line{"memory", mib_text(static_cast<double>(*memory.advised)),
                  joined({"peak " + mib_text(*memory.used), margin}), "", ""};
  judge(line, memory, mib_text);
  return line;
}

AdviceLine gpu_line(const Advice& advice) {
  const Sizing& gpu = advice.gpu;
  if (!gpu.advised) return {"gpu", "unknown", "they could not be read", "", ""};
  AdviceLine line{"gpu", "none", gpu.had.value_or(0) > 0 ? "none was used" : "none was seen", "", ""};
  if (*gpu.advised > 0) {
    line.advised = count_text(*gpu.advised, "GPU", "GPUs");
    line.why = "used " + number_text(gpu.used.value_or(0)) + " at most";
  }
  if (gpu.had.value_or(0) > 0 || gpu.asked) judge(line, gpu, number_text);
  return line;
}

void write_sizing(JsonWriter& json, const char* name, const Sizing& sizing, const char* unit) {
  const auto number = [&](const char* key, const std::optional<double>& value) {
    json.key(key);
    value ? json.number(*value, 3) : json.null();
  };
  json.key(name).object();
  json.key("state");
  sizing.state.empty() ? json.null() : json.value(sizing.state);
  json.key("unit").value(unit);
  number("asked", sizing.asked);
  number("had", sizing.had);
  number("used", sizing.used);
  json.key("advised");
  sizing.advised ? json.integer(*sizing.advised) : json.null();
  json.key("risk");
  sizing.risk.empty() ? json.null() : json.value(sizing.risk);
  json.end_object();
}

void write_texts(JsonWriter& json, const char* name, const std::vector<std::string>& texts) {
  json.key(name).array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_statistics(JsonWriter& json, const Advice& advice) {
  json.key("statistics").object();
  for (const auto& [column, values] : advice.statistics) {
    const bool time = column == "timestamp";
    json.key(column).object();
    if (!is_absent(values.mean)) json.key("mean").number(values.mean, 2);
    if (!is_absent(values.max)) json.key("max").number(values.max, 2);
    if (!is_absent(values.sum)) json.key(time ? "duration" : "sum").number(values.sum, time ? 3 : 0);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::vector<AdviceLine> advice_lines(const Advice& advice) {
  std::vector<AdviceLine> lines;
  if (!advice.refused.empty()) return lines;
  lines.push_back(cpu_line(advice.cpu));
  lines.push_back(memory_line(advice));
  lines.push_back(gpu_line(advice));
  if (advice.vram_mib)
    lines.push_back({"gpu memory", mib_text(static_cast<double>(*advice.vram_mib)),
                     advice.runs.size() < 3 ? "the peak and a quarter more" : "the peak and a fifth more", "", ""});
  if (advice.time_s)
    lines.push_back(
        {"time", duration_text(static_cast<double>(*advice.time_s)),
         joined({(advice.runs.size() == 1 ? "took " : "the longest took ") + duration_text(*advice.longest_s),
                 "a quarter more"}),
         "", ""});
  if (!advice.allocation.empty())
    lines.push_back({"machine", advice.allocation, std::string(allocation_reason(advice.allocation)), "", ""});
  return lines;
}

std::string advice_text(const Advice& advice, bool color) {
  const auto paint = [&](const char* code, const std::string& text) {
    return color ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  };
  std::string runs;
  for (const std::string& name : advice.names) runs = joined({runs, name});
  const std::string count = count_text(static_cast<int64_t>(advice.runs.size()), "run", "runs");
  std::string text = "tacho: what this job needs, by " + count + " (" + runs + ")\n";
  for (const AdviceLine& line : advice_lines(advice)) {
    const std::string label = line.what + std::string(line.what.size() < 10 ? 10 - line.what.size() : 0, ' ');
    text += "  " + paint("2", label) + " " + paint("1", line.advised) + "  (" + line.why + ")\n";
    if (line.state.empty()) continue;
    const char* shade = line.state == "under" ? "31" : line.state == "over" ? "33" : "32";
    text += "             " + paint(shade, line.state) + ": " + line.judgement + "\n";
  }
  return text;
}

void write_advice(JsonWriter& json, const Advice& advice) {
  write_texts(json, "runs", advice.runs);
  if (!advice.refused.empty()) {
    json.key("advice").null();
    json.key("reason").value(advice.refused);
    json.key("hint").value(advice.hint);
    return;
  }
  json.key("advice").object();
  write_sizing(json, "cpu", advice.cpu, "cores");
  write_sizing(json, "memory", advice.memory, "MiB");
  write_sizing(json, "gpu", advice.gpu, "GPUs");
  json.key("vram").object().key("unit").value("MiB").key("advised");
  advice.vram_mib ? json.integer(*advice.vram_mib) : json.null();
  json.end_object();
  json.key("time").object().key("unit").value("s").key("used");
  advice.longest_s ? json.number(*advice.longest_s, 3) : json.null();
  json.key("advised");
  advice.time_s ? json.integer(*advice.time_s) : json.null();
  json.end_object();
  json.key("guess").value(advice.guess);
  write_texts(json, "warnings", advice.warnings);
  json.end_object();
  if (!advice.allocation.empty()) json.key("allocation").value(advice.allocation);
  write_statistics(json, advice);
}

}  // namespace tacho
