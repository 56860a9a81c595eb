#include "app/top/top_screen.hpp"

#include <clocale>
#include <cstdio>
#include <cstring>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

// The macros of curses clash with names of this program.
#define NCURSES_NOMACROS 1
#include <curses.h>

#include "base/text/printable.hpp"

namespace carpool::app {

// Restores the terminal when destroyed.
struct TopScreen::State {
  explicit State(SCREEN* made) : screen(made) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    ::endwin();
    ::delscreen(screen);
  }

  SCREEN* screen;
  bool coloured = false;
};

namespace {

constexpr short kBusyPair = 1;
constexpr short kGoodPair = 2;
constexpr short kWarningPair = 3;
constexpr short kAlarmPair = 4;
constexpr int kEscapeDelayMs = 25;

bool start_colours() {
  if (!::has_colors() || ::start_color() == ERR || ::use_default_colors() == ERR) {
    return false;
  }
  ::init_pair(kBusyPair, COLOR_CYAN, -1);
  ::init_pair(kGoodPair, COLOR_GREEN, -1);
  ::init_pair(kWarningPair, COLOR_YELLOW, -1);
  ::init_pair(kAlarmPair, COLOR_RED, -1);
  return true;
}

attr_t attributes(Tone tone) {
  switch (tone) {
    case Tone::Strong:
    case Tone::Alarm:
      return A_BOLD;
    case Tone::Faint:
      return A_DIM;
    case Tone::Chosen:
      return A_REVERSE;
    case Tone::Plain:
    case Tone::Busy:
    case Tone::Good:
    case Tone::Warning:
      break;
  }
  return A_NORMAL;
}

short colour_pair(Tone tone) {
  switch (tone) {
    case Tone::Busy:
      return kBusyPair;
    case Tone::Good:
      return kGoodPair;
    case Tone::Warning:
      return kWarningPair;
    case Tone::Alarm:
      return kAlarmPair;
    case Tone::Plain:
    case Tone::Strong:
    case Tone::Faint:
    case Tone::Chosen:
      break;
  }
  return 0;
}

constexpr int kEscapeKey = 27;
constexpr int kDeleteKey = 127;  // what most terminals send for backspace

TopKey meaning(int key) {
  switch (key) {
    case KEY_UP:
      return TopKey::Up;
    case KEY_DOWN:
      return TopKey::Down;
    case KEY_PPAGE:
      return TopKey::PageUp;
    case KEY_NPAGE:
      return TopKey::PageDown;
    case KEY_HOME:
      return TopKey::First;
    case KEY_END:
      return TopKey::Last;
    case 'm':
      return TopKey::ByMemory;
    case 's':
      return TopKey::BySm;
    case 'p':
      return TopKey::ByPid;
    case 'j':
      return TopKey::ByJob;
    case '/':
      return TopKey::Filter;
    case 'k':
      return TopKey::Cancel;
    case '\n':
    case '\r':
    case KEY_ENTER:
      return TopKey::Enter;
    case kEscapeKey:
      return TopKey::Escape;
    case KEY_BACKSPACE:
    case '\b':
    case kDeleteKey:
      return TopKey::Erase;
    case 'q':
    case 'Q':
      return TopKey::Quit;
    default:
      return TopKey::Other;
  }
}

TopInput input_of(int key) {
  const bool types = key >= ' ' && key < kDeleteKey;
  return {.key = meaning(key), .character = types ? static_cast<char>(key) : '\0'};
}

}  // namespace

bool terminal_speaks_utf8() {
  // Only characters: numbers keep the decimal point.
  if (std::setlocale(LC_CTYPE, "") == nullptr) {
    return false;
  }
  return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

TopScreen::TopScreen(std::unique_ptr<State> state) : state_(std::move(state)) {}
TopScreen::TopScreen(TopScreen&& other) noexcept = default;
TopScreen::~TopScreen() = default;

Result<TopScreen> TopScreen::open(bool colour) {
  // initscr() would exit if the terminal type is unknown.
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    return fail(ErrorCode::Unsupported,
                "unknown terminal type: set TERM to a known one (xterm, linux, …), or print one "
                "screen with `carpool top --once`");
  }
  auto state = std::make_unique<State>(screen);
  state->coloured = colour && start_colours();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::curs_set(0);
  ::set_escdelay(kEscapeDelayMs);
  ::keypad(stdscr, true);
  // Some terminals send these codes for arrows although keypad mode is on.
  ::define_key("\033[A", KEY_UP);
  ::define_key("\033[B", KEY_DOWN);
  ::nodelay(stdscr, true);
  return TopScreen(std::move(state));
}

TopScreenSize TopScreen::size() const {
  return {.columns = static_cast<std::size_t>(::getmaxx(stdscr)),
          .rows = static_cast<std::size_t>(::getmaxy(stdscr))};
}

void TopScreen::draw(const std::vector<Line>& lines) {
  ::werase(stdscr);
  int row = 0;
  for (const Line& line : lines) {
    ::wmove(stdscr, row++, 0);
    for (const Piece& piece : line) {
      ::wattr_set(stdscr,
                  attributes(piece.tone),
                  state_->coloured ? colour_pair(piece.tone) : short{0},
                  nullptr);
      // Writing the last column of the last row returns an error, which is harmless.
      ::waddstr(stdscr, printable(piece.text).c_str());
    }
  }
  ::wrefresh(stdscr);
}

TopInput TopScreen::wait_for_key(std::chrono::milliseconds limit) {
  // Keys that arrived together with an earlier one are buffered in the library.
  if (const int key = ::wgetch(stdscr); key != ERR) {
    return input_of(key);
  }
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  // A signal, such as that of a resized terminal, ends the wait; the library then reports it.
  if (::poll(&input, 1, static_cast<int>(limit.count())) > 0 &&
      (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
    return {.key = TopKey::Quit};
  }
  const int key = ::wgetch(stdscr);
  return key == ERR ? TopInput{} : input_of(key);
}

}  // namespace carpool::app
