// A program with the one command that guards need.
#include <span>

#include "run/guard.hpp"

int main(int argc, char** argv) {
  return carpool::run::run_guard_command(
      std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
}
