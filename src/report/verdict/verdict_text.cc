// A verdict in words and as JSON, and what to change.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/writer.h"
#include "report/verdict/verdict.h"

namespace tacho {
namespace {

struct Suggestion {
  std::string_view verdict, detail;  // detail empty: any
  std::string_view text;
};

// The first that fits; docs/bottlenecks.md says more.
constexpr auto kSuggestions = std::to_array<Suggestion>({
    {"memory", "oom", "give it more memory than its peak (tacho advise says how much), or let it hold less at a time"},
    {"memory", "", "give it more memory, or let it hold less at a time; swapping costs more than a larger machine"},
    {"cpu_quota", "",
     "raise the CPU quota, or start as many threads as it has cores: more of them only use it up sooner"},
    {"gpu_compute", "", "the GPU's units are the limit: a faster or a second GPU, a lower precision, or less work"},
    {"gpu_memory_bandwidth", "",
     "the GPU's memory is the limit: fuse kernels, use smaller types, or a GPU with more bandwidth"},
    {"pcie", "", "keep data on the GPU, copy from pinned memory and while kernels run, in larger pieces"},
    {"nvlink", "", "exchange less between GPUs: larger batches, fewer reductions, overlap with the computation"},
    {"disk", "throughput", "a faster disk or several, compressed or smaller data, or a copy on local storage"},
    {"disk", "", "fewer and larger requests, fewer fsyncs, more of them at a time, or a disk that answers sooner"},
    {"network", "bandwidth", "a faster link, less data, or data that is closer"},
    {"network", "", "ask the peer less often, several requests at a time, or find out why it answers late"},
    {"lock", "", "hold locks for shorter, divide what they guard, or use fewer threads"},
    {"cpu", "contended", "others hold the cores, or too many threads want them: fewer threads, or cores of its own"},
    {"cpu", "", "more cores would make it faster, if it has threads for them"},
    {"single_thread", "",
     "one thread does the work: run parts beside each other, or take a faster core; more cores do not help"},
    {"waiting", "sleep", "it sleeps on purpose: look at its timers and polls; no machine makes that faster"},
    {"waiting", "pipe",
     "it waits for what another process or thread sends it: look at that one (a data loader: more workers, or less "
     "work for each item)"},
    {"waiting", "child", "it waits for its children, which do not run either: look at what they wait for"},
    {"waiting", "idle", "its threads have nothing to do: look at who should give them work"},
    {"waiting", "", "it hardly runs: look at what it waits for before choosing a larger machine"},
    {"mixed", "waiting+none", "it hardly used the machine: look at what it waits for, and at its phases (tacho mark)"},
    {"mixed", "none+waiting", "it hardly used the machine: look at what it waits for, and at its phases (tacho mark)"},
    {"mixed", "", "several things limited it by turns: marks (tacho mark) tell which phase is limited by what"},
    {"none", "", "nothing was used up: look at the program itself, and at its phases (tacho mark)"},
    {"unknown", "", "record more than five samples: a longer run, or a shorter interval (tacho run -i 100ms)"},
});

std::string plain(std::string_view word) {
  std::string text(word);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string both_words(const Judgement& judgement) {
  const size_t plus = judgement.detail.find('+');
  return plain(judgement.detail.substr(0, plus)) + " and " + plain(judgement.detail.substr(plus + 1));
}

bool limits_nothing(std::string_view word) { return word == "waiting" || word == "none"; }

// One side of a mixed verdict.
std::string part_words(std::string_view word) {
  return word == "waiting" ? "waiting" : "limited by " + (word == "none" ? "nothing" : plain(word));
}

// What the run was: "limited by disk and network", "waiting (sleep)", "partly waiting, partly limited by nothing".
std::string state_words(const Judgement& judgement) {
  if (judgement.verdict == "waiting") return verdict_words(judgement);
  const size_t plus = judgement.detail.find('+');
  const std::string_view first = std::string_view(judgement.detail).substr(0, plus);
  const std::string_view second = std::string_view(judgement.detail).substr(plus == std::string::npos ? 0 : plus + 1);
  if (judgement.verdict != "mixed" || (!limits_nothing(first) && !limits_nothing(second)))
    return "limited by " + verdict_words(judgement);
  return "partly " + part_words(first) + ", partly " + part_words(second);
}

// "76 % of the time". What ended a run is no share of its time.
std::string share_words(const Judgement& judgement) {
  return judgement.share > 0 && judgement.detail != "oom" ? percent(judgement.share) + " of the time" : std::string();
}

std::string head_line(const Verdict& verdict, bool color) {
  const Judgement& judgement = verdict.judgement;
  const auto bold = [&](const std::string& text) { return color ? "\x1b[1m" + text + "\x1b[0m" : text; };
  if (judgement.verdict == "unknown")
    return "What limited this run is " + bold("unknown") + ": " + std::string(verdict.why_unknown) + ".\n";
  std::string line =
      judgement.verdict == "none" ? "Nothing limited this run" : "This run was " + bold(state_words(judgement));
  if (const std::string share = share_words(judgement); !share.empty()) line += ", " + share;
  return line + " (confidence: " + std::string(confidence_word(judgement.confidence)) + ").\n";
}

std::string joined_texts(const std::vector<Evidence>& items, size_t most) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < most; ++i) text += (i > 0 ? "; " : "") + items[i].text;
  return text;
}

std::string phases_text(const std::vector<PhaseVerdict>& phases) {
  constexpr size_t kMost = 6;
  std::string text;
  for (size_t i = 0; i < phases.size() && i < kMost; ++i)
    text += (i > 0 ? ", " : "") + harmless_text(phases[i].name) + " " + verdict_words(phases[i].judgement);
  if (phases.size() > kMost) text += ", and " + std::to_string(phases.size() - kMost) + " more";
  return text;
}

// Six digits that add up to 1: the largest takes what rounding leaves.
std::vector<double> rounded_shares(const std::vector<ClassShare>& classes) {
  constexpr double kDigits = 1e6;
  std::vector<double> rounded;
  double rest = classes.empty() ? 0 : kDigits;
  for (const ClassShare& one : classes) {
    rounded.push_back(std::max(1.0, std::round(one.share * kDigits)));
    rest -= rounded.back();
  }
  if (!rounded.empty()) rounded[0] += rest;
  for (double& value : rounded) value /= kDigits;
  return rounded;
}

void write_judgement(JsonWriter& json, const Judgement& judgement) {
  json.key("verdict").value(judgement.verdict);
  json.key("detail");
  judgement.detail.empty() ? json.null() : json.value(judgement.detail);
  json.key("confidence").value(confidence_word(judgement.confidence));
  json.key("share").number(judgement.share, 6);
  json.key("classes").object();
  const std::vector<double> shares = rounded_shares(judgement.classes);
  for (size_t i = 0; i < shares.size(); ++i) json.key(limit_word(judgement.classes[i].limit)).number(shares[i], 6);
  json.end_object();
}

void write_evidence(JsonWriter& json, const char* key, const std::vector<Evidence>& items) {
  json.key(key).array();
  for (const Evidence& item : items) {
    json.object().key("metric").value(item.metric).key("value").number(item.value, 6);
    json.key("threshold").number(item.threshold, 6).key("text").value(item.text).end_object();
  }
  json.end_array();
}

}  // namespace

std::string advice_for(const Judgement& judgement) {
  for (const Suggestion& suggestion : kSuggestions)
    if (suggestion.verdict == judgement.verdict && (suggestion.detail.empty() || suggestion.detail == judgement.detail))
      return std::string(suggestion.text);
  return {};
}

std::string verdict_words(const Judgement& judgement) {
  const std::string word = plain(judgement.verdict);
  if (judgement.verdict == "mixed") return both_words(judgement);
  if (judgement.detail.empty()) return word;
  if (judgement.verdict == "disk" || judgement.verdict == "network") return word + " " + judgement.detail;
  return word + " (" + judgement.detail + ")";
}

std::string summary_words(const Judgement& judgement) {
  if (judgement.verdict == "none" || judgement.verdict == "unknown" || judgement.confidence == Confidence::low)
    return {};
  if (judgement.verdict == "waiting") return verdict_words(judgement);
  if (judgement.verdict != "mixed") return "limited by " + verdict_words(judgement);
  const std::string_view both = judgement.detail;
  const std::string_view first = both.substr(0, both.find('+')), second = both.substr(both.find('+') + 1);
  if (!limits_nothing(first) && !limits_nothing(second)) return "limited by " + both_words(judgement);
  if (limits_nothing(first) && limits_nothing(second)) return "waiting in part";
  return "limited by " + plain(limits_nothing(first) ? second : first) + " in part";
}

std::string verdict_line(const Judgement& judgement) {
  if (judgement.verdict == "unknown") return {};
  if (judgement.verdict == "none") return "nothing limited it";
  const std::string share = share_words(judgement);
  return state_words(judgement) + " (" + share + (share.empty() ? "" : ", ") + "confidence " +
         std::string(confidence_word(judgement.confidence)) + "; tacho why tells more)";
}

std::string verdict_text(const Verdict& verdict, bool color) {
  const auto dim = [&](const char* label) {
    return "  " + (color ? "\x1b[2m" + std::string(label) + "\x1b[0m" : std::string(label)) + " ";
  };
  std::string text = head_line(verdict, color);
  text += verdict.evidence.empty() ? dim("seen:   ") + "nothing that a rule looks at was above its limit\n"
                                   : dim("because:") + joined_texts(verdict.evidence, 3) + "\n";
  if (!verdict.against.empty()) text += dim("against:") + joined_texts(verdict.against, 2) + "\n";
  if (!verdict.missing.empty()) {
    std::string list;
    for (const std::string& one : verdict.missing) list += (list.empty() ? "" : "; ") + one;
    text += dim("unknown:") + list + "\n";
  }
  if (!verdict.phases.empty()) text += dim("phases: ") + phases_text(verdict.phases) + "\n";
  return text + dim("change: ") + verdict.advice + "\n";
}

std::string verdict_json(const Verdict& verdict) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  json.key("run").value(verdict.run);
  write_judgement(json, verdict.judgement);
  write_evidence(json, "evidence", verdict.evidence);
  write_evidence(json, "against", verdict.against);
  json.key("missing").array();
  for (const std::string& one : verdict.missing) json.value(one);
  json.end_array();
  json.key("phases").array();
  for (const PhaseVerdict& phase : verdict.phases) {
    json.object().key("name").value(phase.name).key("seconds").number(phase.seconds, 3);
    write_judgement(json, phase.judgement);
    json.end_object();
  }
  json.end_array();
  json.key("advice").value(verdict.advice);
  json.end_object();
  return std::string(out.view()) + "\n";
}

}  // namespace tacho
