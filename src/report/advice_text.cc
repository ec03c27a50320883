// Advice for a person and for a program.
#include "base/units.h"
#include "base/writer.h"
#include "model/allocation.h"
#include "report/advice.h"
#include "report/human.h"

namespace tacho {
namespace {

std::string mib_text(double mib) { return bytes_text(mib * static_cast<double>(kMiB)); }

const Statistics& of(const Advice& advice, std::string_view column) {
  static const Statistics kNothing;
  for (const auto& [name, statistics] : advice.statistics)
    if (name == column) return statistics;
  return kNothing;
}

class Lines {
 public:
  explicit Lines(bool color) : color_(color) {}
  void add(const std::string& name, const std::string& advised, const std::string& why) {
    const std::string label = name + std::string(name.size() < 10 ? 10 - name.size() : 1, ' ');
    text_ += "  " + paint("\x1b[2m", label) + " " + paint("\x1b[1m", advised);
    text_ += (why.empty() ? "" : "  (" + why + ")") + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string paint(const char* code, const std::string& text) const { return color_ ? code + text + "\x1b[0m" : text; }

  bool color_;
  std::string text_;
};

std::string count_text(int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

void add_if(std::string& text, const std::string& part) { text += (text.empty() ? "" : ", ") + part; }

}  // namespace

std::string advice_text(const Advice& advice, bool color) {
  Lines lines(color);
  const Statistics &cpu = of(advice, "process_cpu_usage"), &memory = of(advice, "process_memory_mib");
  if (advice.cpu) {
    std::string why = "used " + number_text(cpu.mean) + " on average";
    if (advice.cpu_p95) add_if(why, "at most " + std::to_string(*advice.cpu_p95) + " for 95 % of the time");
    if (advice.had_cores) add_if(why, "had " + number_text(*advice.had_cores));
    lines.add("cpu", count_text(*advice.cpu, "core", "cores"), why);
  } else {
    lines.add("cpu", "unknown", "no run has process_cpu_usage");
  }
  if (advice.memory_mib) {
    std::string why = "peak " + mib_text(memory.max) + " and a fifth more";
    if (advice.had_memory_mib) add_if(why, "had " + mib_text(*advice.had_memory_mib));
    lines.add("memory", mib_text(static_cast<double>(*advice.memory_mib)), why);
  } else {
    lines.add("memory", "unknown", "no run has process_memory_mib");
  }
  const Statistics &gpu = of(advice, "process_gpu_usage"), &vram = of(advice, "process_gpu_vram_mib");
  if (advice.gpu == 0) {
    lines.add("gpu", "none", is_absent(gpu.mean) ? "none was seen" : "none was used");
  } else {
    lines.add("gpu", count_text(advice.gpu, "GPU", "GPUs"),
              "used " + number_text(gpu.mean) + " on average, " + number_text(gpu.max) + " at most");
    if (advice.vram_mib > 0)
      lines.add("gpu memory", mib_text(static_cast<double>(advice.vram_mib)),
                "peak " + mib_text(vram.max) + " and a fifth more");
  }
  if (!advice.allocation.empty())
    lines.add("machine", advice.allocation, std::string(allocation_reason(advice.allocation)));
  std::string runs;
  for (const std::string& name : advice.names) add_if(runs, name);
  const std::string count = count_text(static_cast<int64_t>(advice.runs.size()), "run", "runs");
  return "tacho: what this job needs, by " + count + " (" + runs + ")\n" + lines.text();
}

std::string advice_json(const Advice& advice) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  json.key("runs").array();
  for (const std::string& run : advice.runs) json.value(run);
  json.end_array();
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
  const auto whole = [&](const char* name, const std::optional<int64_t>& value) {
    if (value) json.key(name).integer(*value);
  };
  json.key("recommendation").object();  // memory and vram in MiB
  whole("cpu", advice.cpu);
  whole("cpu_p95", advice.cpu_p95);
  whole("memory", advice.memory_mib);
  whole("gpu", advice.gpu);
  whole("vram", advice.vram_mib);
  json.end_object();
  if (!advice.allocation.empty()) json.key("allocation").value(advice.allocation);
  if (advice.had_cores || advice.had_memory_mib) {
    json.key("current").object();
    if (advice.had_cores) json.key("cpu").number(*advice.had_cores, 2);
    if (advice.had_memory_mib) json.key("memory").number(*advice.had_memory_mib, 2);
    json.end_object();
  }
  json.end_object();
  return std::string(out.view()) + "\n";
}

}  // namespace tacho
