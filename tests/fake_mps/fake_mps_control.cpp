// A fake nvidia-cuda-mps-control: the options, commands, answers and exit statuses of driver 580,
// without a GPU. Tests control it by
//   client.PID     a file in the pipe folder: the process is a client of the server
//   fault          a file in the pipe folder: the server is in the state FAULT while it has clients
//   hang           a file in the pipe folder: the daemon accepts and never answers
//   fatal_gpu_error  a command: the log of the server says that all clients failed
//   drained_still.PID  a file in the pipe folder, made where a client that was stopped is
//   terminated FAKE_MPS_GPUS  the only UUID of the driver FAKE_MPS_OLD   set: an old driver with
//   fewer commands FAKE_MPS_START_MS  how long a daemon takes to start
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_daemon.hpp"

namespace {

constexpr std::string_view kHelp =
    "CUDA MPS Control (fake)\n\n"
    "OPTIONS:\n"
    "  -h,--help                Print this message\n"
    "  -d,--daemon              Setup the daemon in the background\n"
    "\nCOMMAND:\n"
    "  quit\n                       Terminate the controller\n"
    "  get_server_list\n                       Print out a list of servers\n"
    "  get_server_status <PID>\n                       Print out the status of the server\n"
    "  get_client_list <PID>\n                       List the client applications\n"
    "  set_default_device_pinned_mem_limit <dev> <value>\n                       Set default\n"
    "  set_default_client_priority <priority>\n                       Set default\n"
    "  terminate_client <server PID> <client PID>\n                       Terminate its work\n";

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

int start_daemon(const FakePlace& place) {
  const std::string gpu = variable("CUDA_VISIBLE_DEVICES", "");
  if (gpu.empty() || variable("FAKE_MPS_GPUS", gpu.c_str()) != gpu) {
    return 100;
  }
  if (const int other = connect_to(place); other >= 0) {
    ::close(other);
    std::cout << "An instance of this daemon is already running\n";
    return 1;
  }
  ::poll(nullptr, 0, std::stoi(variable("FAKE_MPS_START_MS", "0")));
  if (::fork() != 0) {
    return 0;
  }
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) {
    ::dup2(nothing, stream);
  }
  return serve(place);
}

int speak(const FakePlace& place) {
  for (std::string line; std::getline(std::cin, line);) {
    const int connection = connect_to(place);
    if (connection < 0) {
      std::cerr << "Cannot find MPS control daemon process\n";
      return 1;
    }
    line += '\n';
    ::send(connection, line.data(), line.size(), MSG_NOSIGNAL);
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(connection, block.data(), block.size())) > 0;) {
      std::cout.write(block.data(), got);
    }
    ::close(connection);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const FakePlace place{variable("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent"),
                        variable("CUDA_MPS_LOG_DIRECTORY", "/nonexistent")};
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (option == "-d") {
    return start_daemon(place);
  }
  if (option == "-h" && !fake_is_old()) {
    std::cout << kHelp;
    return 0;
  }
  if (option == "-v" && !fake_is_old()) {
    std::cout << "CUDA MPS Control (fake). Binary version: 13000\n";
    return 0;
  }
  if (!option.empty()) {
    std::cout << "Unrecognized option\n";
    return 1;
  }
  return speak(place);
}
