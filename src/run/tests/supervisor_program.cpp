// A program with only the hidden command of supervisors.
#include <span>

#include "run/supervisor/supervisor.hpp"

int main(int argc, char** argv) {
  return carpool::run::run_guard_command(
      std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
}
