#include "fake_daemon.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

sockaddr_un address_of(const FakePlace& place) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = place.socket().string();
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

std::string not_found(int server) {
  return "Server " + std::to_string(server) + " not found\n";
}

class Daemon {
 public:
  explicit Daemon(const FakePlace& place) : place_(place) {}
  ~Daemon() { end_server(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  [[nodiscard]] std::string answer(const std::string& line);
  [[nodiscard]] std::set<int> clients() const;

  bool quitting = false;
  int seconds_left = -1;  // of "quit -t"; -1: no limit

 private:
  std::string known_answer(const std::string& command, std::istringstream& words);
  [[nodiscard]] std::string client_list() const;
  std::string terminate(int server, int client);
  void write_fatal_error() const;
  void end_server();
  void refresh();

  FakePlace place_;
  pid_t server_ = -1;
};

// A client is a running process with a file client.PID in the pipe folder.
std::set<int> Daemon::clients() const {
  std::set<int> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(place_.pipe, ignored)) {
    const std::string name = entry.path().filename().string();
    const int pid = name.starts_with("client.") ? std::atoi(name.c_str() + 7) : 0;
    if (pid > 0 && ::kill(pid, 0) == 0) {
      pids.insert(pid);
    }
  }
  return pids;
}

void Daemon::end_server() {
  if (server_ > 0) {
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
    server_ = -1;
  }
}

// The first client starts the server. A fault ends when all clients have ended.
void Daemon::refresh() {
  if (server_ > 0 && ::waitpid(server_, nullptr, WNOHANG) == server_) {
    std::ofstream(place_.log / "control.log", std::ios::app)
        << "Server " << server_ << " exited with status 0\n";
    server_ = -1;
  }
  const bool served = !clients().empty();
  if (served && server_ < 0) {
    server_ = ::fork();
    if (server_ == 0) {
      ::prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
      ::close_range(3, ~0U, 0);  // the caller waits for the end of the connection
      while (true) {
        ::pause();
      }
    }
  }
  if (!served) {
    std::error_code ignored;
    std::filesystem::remove(place_.pipe / "fault", ignored);
  }
}

std::string Daemon::client_list() const {
  std::string list;
  for (const int pid : clients()) {
    list += std::to_string(pid) + "\n";
  }
  return list;
}

// As driver 580 on an H200: one client is named as the first, and all as the cause.
void Daemon::write_fatal_error() const {
  std::ofstream log(place_.log / "server.log", std::ios::app);
  const std::string stamp = "[2026-11-16 14:01:02.345 Other " + std::to_string(server_) + "] ";
  const std::set<int> pids = clients();
  if (!pids.empty()) {
    log << stamp << "Client {PID: " << *pids.begin()
        << ", Context: 1} encountered a fatal GPU error.\n";
  }
  log << stamp << "Server is handling a fatal GPU error.\n";
  for (const int pid : pids) {
    log << stamp << "All clients belonging to error trigging process " << pid
        << " will be torn down\n";
  }
  log << stamp << "The following client process have a sticky error set:\n";
  for (const int pid : pids) {
    log << stamp << pid << "\n";
  }
}

// 'T' in /proc/PID/stat: the real daemon waits for such a client.
bool is_stopped(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t close = text.rfind(')');
  return close != std::string::npos && close + 2 < text.size() && text[close + 2] == 'T';
}

std::string Daemon::terminate(int server, int client) {
  if (server != server_) {
    return not_found(server) + "Server " + std::to_string(server) + " not found!\n1\n";
  }
  if (!clients().contains(client)) {
    return "Invalid process " + std::to_string(client) + "!\n1\n";
  }
  if (is_stopped(client)) {
    std::ofstream(place_.pipe / ("drained_still." + std::to_string(client))).put('x');
  }
  std::filesystem::remove(place_.pipe / ("client." + std::to_string(client)));
  return "0\n";
}

std::string Daemon::known_answer(const std::string& command, std::istringstream& words) {
  int first = 0;
  int second = 0;
  if (command == "get_server_list") {
    return server_ > 0 ? std::to_string(server_) + "\n" : "";
  }
  if (command == "get_default_active_thread_percentage") {
    return "100.0\n";
  }
  if (command == "get_client_list") {
    words >> first;
    return first == server_ ? client_list() : not_found(first);
  }
  if (command == "get_server_status" && !fake_is_old()) {
    words >> first;
    const bool fault = std::filesystem::exists(place_.pipe / "fault");
    return first != server_ ? not_found(first) : fault ? "FAULT\n" : "ACTIVE\n";
  }
  if (command == "fatal_gpu_error") {
    write_fatal_error();
    return "";
  }
  if (command == "terminate_client" && !fake_is_old()) {
    words >> first >> second;
    return terminate(first, second);
  }
  return "Unknown command \"" + command + "\"\n";
}

std::string Daemon::answer(const std::string& line) {
  refresh();
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command == "quit") {
    quitting = true;
    std::string option;
    words >> option >> seconds_left;
    seconds_left = option == "-t" ? seconds_left : -1;
    return "";
  }
  return known_answer(command, words);
}

std::string read_line(int connection) {
  std::string line;
  char letter = 0;
  while (::read(connection, &letter, 1) == 1 && letter != '\n') {
    line += letter;
  }
  return line;
}

void send(int connection, const std::string& text) {
  ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
  ::close(connection);
}

// The caller of quit waits for the clients too.
void wait_for_clients(Daemon& daemon) {
  constexpr int kStepMs = 20;
  for (int waited = 0; !daemon.clients().empty(); waited += kStepMs) {
    if (daemon.seconds_left >= 0 && waited >= daemon.seconds_left * 1000) {
      return;
    }
    ::poll(nullptr, 0, kStepMs);
  }
}

}  // namespace

bool fake_is_old() {
  return std::getenv("FAKE_MPS_OLD") != nullptr;
}

int connect_to(const FakePlace& place) {
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(place);
  if (::connect(connection, generic(address), sizeof address) != 0) {
    ::close(connection);
    return -1;
  }
  return connection;
}

int serve(const FakePlace& place) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(place);
  ::unlink(place.socket().c_str());
  if (::bind(listener, generic(address), sizeof address) != 0 || ::listen(listener, 16) != 0) {
    return 1;
  }
  std::ofstream(place.pid_file()) << ::getpid() << '\n';
  std::ofstream(place.log / "control.log", std::ios::app) << "Starting control daemon\n";
  Daemon daemon(place);
  while (!daemon.quitting) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      continue;
    }
    const std::string text = daemon.answer(read_line(connection));
    while (std::filesystem::exists(place.pipe / "hang")) {
      ::poll(nullptr, 0, 20);
    }
    if (daemon.quitting) {
      wait_for_clients(daemon);
      std::filesystem::remove(place.pid_file());
    }
    send(connection, text);
  }
  return 0;
}
