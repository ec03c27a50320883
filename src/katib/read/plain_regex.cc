#include "katib/read/plain_regex.h"

#include <algorithm>

#include "katib/read/plain_regex_parser.h"

namespace tacho {
namespace {

constexpr size_t kMostStates = 512, kMostThreads = 64;

}  // namespace

std::unique_ptr<PlainRegex> PlainRegex::compile(std::string_view text) {
  std::unique_ptr<PlainRegex> self(new PlainRegex);
  if (!PlainParser(text).compile(*self)) return nullptr;
  self->make_classes();
  self->sequence_ = self->as_sequence();
  self->state_of({}, true);
  return self;
}

// By what the parser makes of a class and of its greedy ?, * and +; nothing where there is more in the program.
std::optional<RunSequence> PlainRegex::as_sequence() const {
  static_assert(RunSequence::kTags == kTags);
  std::vector<RunSequence::Run> runs;
  uint8_t tags = 0;
  const auto is = [&](size_t at, Step::Kind kind) { return at < program_.size() && program_[at].kind == kind; };
  const auto leads = [&](int32_t to, size_t at) { return static_cast<size_t>(to) == at; };
  // split → letter → jump back: any number of the letter behind it.
  const auto is_loop = [&](size_t at) {
    return is(at, Step::Kind::split) && leads(program_[at].next, at + 1) && is(at + 1, Step::Kind::letter) &&
           is(at + 2, Step::Kind::jump) && leads(program_[at + 2].next, at) && leads(program_[at].other, at + 3);
  };
  for (size_t at = 0; at < program_.size();) {
    const Step& step = program_[at];
    switch (step.kind) {
      case Step::Kind::save:
        tags = static_cast<uint8_t>(tags | 1u << step.tag);
        ++at;
        continue;
      case Step::Kind::match: return RunSequence::make(runs, tags);
      case Step::Kind::jump: return std::nullopt;
      case Step::Kind::letter: {
        const bool repeats = is_loop(at + 1) && program_[at + 2].letters == step.letters;
        runs.push_back({step.letters, true, repeats, tags});
        at += repeats ? 4 : 1;
        break;
      }
      case Step::Kind::split: {
        const bool repeats = is_loop(at);
        if (!repeats && !(leads(step.next, at + 1) && is(at + 1, Step::Kind::letter) && leads(step.other, at + 2)))
          return std::nullopt;
        runs.push_back({program_[at + 1].letters, false, repeats, tags});
        at += repeats ? 3 : 2;
        break;
      }
    }
    tags = 0;
  }
  return std::nullopt;
}

// Letters that no step tells apart are one class.
void PlainRegex::make_classes() {
  std::map<std::vector<bool>, uint8_t> known;
  for (unsigned letter = 0; letter < 128; ++letter) {
    std::vector<bool> taken;
    for (const Step& step : program_)
      if (step.kind == Step::Kind::letter) taken.push_back(step.letters[letter]);
    const auto [at, is_new] = known.try_emplace(std::move(taken), static_cast<uint8_t>(known.size()));
    classes_[letter] = at->second;
    if (is_new) class_letters_.push_back(static_cast<unsigned char>(letter));
    for (const Step& step : program_)
      taken_[letter] = taken_[letter] || (step.kind == Step::Kind::letter && step.letters[letter]);
  }
}

std::string_view PlainRegex::part_round(const char* at, const char* from, const char* end) const {
  const auto taken = [&](char c) { return taken_[static_cast<unsigned char>(c)]; };
  const char* first = at;
  while (first > from && taken(first[-1])) --first;
  while (at < end && taken(*at)) ++at;
  return {first, static_cast<size_t>(at - first)};
}

// Follows what takes no letter, the preferred way first. True: the text so far is a match, and what is less preferred
// does not count.
bool PlainRegex::follow(int32_t at, Slots slots, State& state, std::vector<bool>& seen) const {
  for (;;) {
    if (seen[static_cast<size_t>(at)]) return false;
    seen[static_cast<size_t>(at)] = true;
    const Step& step = program_[static_cast<size_t>(at)];
    switch (step.kind) {
      case Step::Kind::letter: state.ways.push_back({at, slots}); return false;
      case Step::Kind::match:
        state.is_match = true;
        state.match = slots;
        return true;
      case Step::Kind::split:
        if (follow(step.next, slots, state, seen)) return true;
        at = step.other;
        break;
      case Step::Kind::save:
        slots[step.tag] = Move::kHere;
        at = step.next;
        break;
      case Step::Kind::jump: at = step.next; break;
    }
  }
}

// `threads`: the steps behind the letters that were taken.
int32_t PlainRegex::state_of(const std::vector<int32_t>& threads, bool open) {
  const auto [known, is_new] = known_.try_emplace({threads, open}, static_cast<int32_t>(states_.size()));
  if (!is_new) return known->second;
  State state;
  std::vector<bool> seen(program_.size());
  bool matched = false;
  for (size_t i = 0; i < threads.size() && !matched; ++i) {
    Slots slots;
    for (size_t tag = 0; tag < kTags; ++tag) slots[tag] = static_cast<int16_t>(i * kTags + tag);
    matched = follow(threads[i], slots, state, seen);
  }
  // Whatever begins later is less preferred than what has begun. No expression of this kind matches nothing at all.
  if (open && !matched)
    follow(0, {Move::kHere, Move::kNothing, Move::kNothing, Move::kNothing, Move::kNothing}, state, seen);
  state.open = open && !matched;
  states_.push_back(std::move(state));
  edges_.resize(states_.size() * class_letters_.size());
  if (registers_.size() < threads.size() * kTags)
    registers_.resize(threads.size() * kTags), before_.resize(registers_.size());
  too_large_ = too_large_ || states_.size() > kMostStates || threads.size() > kMostThreads;
  return known->second;
}

bool PlainRegex::make_edge(int32_t from, unsigned letter_class) {
  const State state = states_[static_cast<size_t>(from)];
  std::vector<int32_t> threads;
  Edge edge;
  edge.first_move = static_cast<uint32_t>(moves_.size());
  for (const Way& way : state.ways) {
    const Step& step = program_[static_cast<size_t>(way.step)];
    if (!step.letters[class_letters_[letter_class]]) continue;
    int32_t next = step.next;
    while (program_[static_cast<size_t>(next)].kind == Step::Kind::jump)
      next = program_[static_cast<size_t>(next)].next;
    if (std::find(threads.begin(), threads.end(), next) != threads.end()) continue;
    for (size_t tag = 0; tag < kTags; ++tag) {
      const auto to = static_cast<int16_t>(threads.size() * kTags + tag);
      if (way.slots[tag] != to) moves_.push_back({to, way.slots[tag]});
    }
    threads.push_back(next);
  }
  const int32_t target = state_of(threads, state.open);
  edge.row = target * static_cast<int32_t>(class_letters_.size());
  edge.moves = static_cast<uint16_t>(moves_.size() - edge.first_move);
  const State& now = states_[static_cast<size_t>(target)];
  edge.what = static_cast<uint8_t>((edge.moves > 0 ? Edge::kMoves : 0) | (now.is_match ? Edge::kMatch : 0) |
                                   (now.ways.empty() && !now.open ? Edge::kEnd : 0));
  edges_[static_cast<size_t>(from) * class_letters_.size() + letter_class] = edge;
  return !too_large_;
}

void PlainRegex::move(const Edge& edge, int32_t here) {
  const Move* const first = moves_.data() + edge.first_move;
  int32_t* const registers = registers_.data();
  // At once, as it were: one may read what another one writes.
  for (unsigned i = 0; i < edge.moves; ++i)
    before_[i] = first[i].from >= 0 ? registers[first[i].from] : first[i].from == Move::kHere ? here : kNone;
  for (unsigned i = 0; i < edge.moves; ++i) registers[first[i].to] = before_[i];
}

PlainRegex::Found PlainRegex::find(std::string_view text, size_t from, Match& match) {
  if (too_large_) return Found::too_large;
  const char* const letters = text.data();
  const auto size = static_cast<int32_t>(text.size());
  const auto classes = static_cast<int32_t>(class_letters_.size());
  const Edge* edges = edges_.data();
  // The match so far: a state's row and a place; its tags are taken from the registers before these change.
  bool found = false;
  int32_t match_row = kNone, match_end = 0;
  const auto take_match = [&] {
    const Slots& slots = states_[static_cast<size_t>(match_row / classes)].match;
    const auto tag = [&](size_t i) {
      return slots[i] >= 0 ? registers_[static_cast<size_t>(slots[i])] : slots[i] == Move::kHere ? match_end : kNone;
    };
    match = {tag(0), tag(1), tag(2), tag(3), tag(4), match_end};
    found = true;
    match_row = kNone;
  };
  int32_t row = 0;
  for (auto at = static_cast<int32_t>(from); at < size;) {
    const unsigned letter_class = classes_[static_cast<unsigned char>(letters[at]) & 0x7f];
    const Edge* edge = edges + row + letter_class;
    if (edge->row == Edge::kUnknown) {
      if (!make_edge(row / classes, letter_class)) return Found::too_large;
      edges = edges_.data();
      edge = edges + row + letter_class;
    }
    row = edge->row;
    const int32_t here = at++;
    if (edge->what == 0) continue;
    if ((edge->what & Edge::kMoves) != 0) {
      if (match_row != kNone) take_match();
      move(*edge, here);
    }
    if ((edge->what & Edge::kMatch) != 0) match_row = row, match_end = at;
    if ((edge->what & Edge::kEnd) != 0) break;
  }
  if (match_row != kNone) take_match();
  return found ? Found::yes : Found::no;
}

}  // namespace tacho
