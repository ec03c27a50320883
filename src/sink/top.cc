// The destination of tacho top: not a file, but the terminal.
#include "sink/top.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "sink/files.h"

namespace tacho {
namespace {

class TopSink final : public Sink {
 public:
  explicit TopSink(TopScreen screen) : screen_(std::move(screen)) {}

  Status begin(const Run& run, const Schema& schema) override { return first_run_ = &run, schema_ = schema, ok(); }
  Status write(const Row& row, const Detail*) override {
    // Only now are the host's cores and memory known, which begin() comes too early for.
    if (view_.empty()) view_.begin(*first_run_, schema_);
    view_.add(row);
    return screen_.draw(view_);
  }
  Status end(const Run&) override { return ok(); }
  std::string_view name() const override { return "the terminal"; }

 private:
  TopScreen screen_;
  LiveView view_;
  const Run* first_run_ = nullptr;  // the session's own, which outlives its sinks
  Schema schema_;
};

size_t columns_of_terminal() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

Result<TopScreen> TopScreen::open(bool color) {
  auto out = LineFile::open("-");
  if (!out) return out.error();
  TopScreen screen(std::move(*out));
  screen.terminal_ = ::isatty(STDOUT_FILENO) == 1;
  screen.color_ = color;
  return screen;
}

Status TopScreen::draw(const LiveView& view) {
  if (!terminal_) return view.empty() ? ok() : out_.write(view.line());
  // Over what is there, each line and the rest of the screen cleared behind it: no flicker, and nothing to put back.
  std::string text = drawn_ ? "\x1b[H" : "\x1b[2J\x1b[H";
  drawn_ = true;
  for (const char c : view.screen(columns_of_terminal(), color_)) {
    if (c == '\n') text += "\x1b[K";
    text += c;
  }
  return out_.write(text + "\x1b[J");
}

Result<std::unique_ptr<Sink>> open_top_sink(const std::string& destination, const SinkOptions&) {
  auto screen = TopScreen::open(destination == "top:color");
  if (!screen) return screen.error();
  return std::unique_ptr<Sink>(std::make_unique<TopSink>(std::move(*screen)));
}

}  // namespace tacho
