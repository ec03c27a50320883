// What limited a run: the shares of its rows' classes (row_class.h), the verdict that follows, and what speaks for and
// against it. Folded row by row in constant memory, so that the exit summary has it too. Pure but for verdict_of(),
// which reads the rows of a stored run. Not thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/store/input.h"
#include "report/verdict/row_class.h"

namespace tacho {

enum class Confidence : uint8_t { low, medium, high };
std::string_view confidence_word(Confidence confidence);

struct ClassShare {
  Limit limit = Limit::none;
  double share = 0;  // of the time
};

// The part of a verdict that a phase has too.
struct Judgement {
  std::string verdict = "unknown";  // a class, "mixed" or "unknown"
  std::string detail;               // empty: none
  Confidence confidence = Confidence::low;
  double share = 0;
  std::vector<ClassShare> classes;  // without zeros, the largest first
};

struct Evidence {
  std::string_view metric;     // a column
  double value = kAbsent;      // its mean by time, in the column's unit
  double threshold = kAbsent;  // absent: it is compared with another column
  std::string text;
};

struct PhaseVerdict {
  std::string name;
  double seconds = 0;
  Judgement judgement;
};

struct Verdict {
  std::string run;  // id
  std::string shown_id;
  Judgement judgement;
  std::vector<Evidence> evidence, against;
  std::vector<std::string> missing;
  std::vector<PhaseVerdict> phases;
  std::string advice;
  std::string_view why_unknown = "it has too few samples";
};

// Time by class and by what kind of it.
class ClassTimes {
 public:
  void add(const RowClass& row, int64_t ns);
  Judgement judge(bool lowered) const;  // lowered: a source that could contradict was missing
  int64_t total_ns() const { return total_ns_; }
  int64_t ns_of(Limit limit) const { return ns_[static_cast<size_t>(limit)]; }
  int64_t rows() const { return rows_; }
  int64_t rows_of(Limit limit) const { return rows_of_[static_cast<size_t>(limit)]; }

 private:
  std::string detail_of(Limit limit) const;

  std::array<int64_t, kLimits> ns_{}, rows_of_{};
  std::array<std::array<int64_t, kAspects>, kLimits> aspect_ns_{};
  int64_t total_ns_ = 0, rows_ = 0;
};

class VerdictFold {
 public:
  explicit VerdictFold(const Schema& schema = {}) : judge_(schema) {}
  // The class that the row was given; nothing: it has none.
  std::optional<RowClass> add(const Row& row, const JudgedRun& run);
  Verdict verdict(const Run& run) const;
  // Whether something that could contradict was not readable; by name.
  std::vector<std::string> missing(const Run& run) const;

 private:
  struct Mean {
    double weighted = 0, seconds = 0;
  };
  enum class Over { its_rows, all_rows };
  double mean(Source source, Limit limit) const;  // over the rows of a class
  double mean(Source source) const;               // over all rows that have one
  std::vector<Evidence> evidence(Limit limit, Over over, const Judgement& judgement, const JudgedRun& run) const;
  void add_evidence(Verdict& verdict, const JudgedRun& run) const;
  void add_full_memory(Verdict& verdict) const;
  void add_oom_evidence(Verdict& verdict, const Run& run) const;

  RowJudge judge_;
  ClassTimes times_;
  bool has_rows_ = false, has_figures_ = false;
  std::array<std::array<Mean, kSources>, kLimits> means_{};
  bool is_machine() const { return machine_ns_ * 2 > times_.total_ns(); }
  void count_gpus(const JudgedRow& seen, int64_t ns);
  void add_missing_gpu(std::vector<std::string>& missing) const;
  int64_t machine_ns_ = 0, foreign_pressure_ns_ = 0, with_waits_ns_ = 0, with_throttling_ns_ = 0;
  // The job holds a GPU; of these: GPM tells; it held one before and nothing is known any more; some GPU is busy and
  // nobody knows whose it is.
  int64_t with_gpu_ns_ = 0, with_gpm_ns_ = 0, lost_gpu_ns_ = 0, somebodys_gpu_ns_ = 0;
};

// The same for a run and each of its phases (run.phases): a phase is judged by the rows that end in it.
class RunVerdict {
 public:
  RunVerdict(const Schema& schema, const Run& run);
  std::optional<RowClass> add(const Row& row);
  Verdict verdict(const Run& run) const;  // phases by their start

 private:
  struct Judged {
    std::string name;
    double started_s, ended_s;
    ClassTimes times;
  };
  VerdictFold fold_;
  JudgedRun run_;
  std::vector<Judged> phases_;
};

// Of a stored run or a metrics file, with its phases.
Result<Verdict> verdict_of(const Input& input);

// Three to six lines for a person, the last with its newline.
std::string verdict_text(const Verdict& verdict, bool color);
std::string verdict_json(const Verdict& verdict);
// "disk latency", "disk and network", "waiting (sleep)", "single thread": what `show` and `compare` say.
std::string verdict_words(const Judgement& judgement);
std::string advice_for(const Judgement& judgement);  // what to change; empty: nothing to say
// For `show`, at any confidence: "limited by disk latency (87 % of the time, confidence high)".
std::string verdict_line(const Judgement& judgement);
// The part of the exit summary: "limited by disk latency"; empty where it would not be said.
std::string summary_words(const Judgement& judgement);

}  // namespace tacho
