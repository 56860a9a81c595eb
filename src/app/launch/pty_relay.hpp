// The first process of a job of `carpool run --pty`: it runs the program in a pseudo-terminal and
// connects that to the terminal of `carpool run` through a socket.
#pragma once

#include <span>

namespace carpool::app {

// `words`: the socket of `carpool run`, then the program and its arguments. Returns the exit code
// of the program; a signal that ended the program ends this process too. The program is hung up
// when the other end of the socket is closed.
[[nodiscard]] int run_pty_relay(std::span<char* const> words);

}  // namespace carpool::app
