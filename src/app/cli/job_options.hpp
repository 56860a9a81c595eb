// What the commands around the server can say: one struct a command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carpool::app {

// Where the server is; absent: $CARPOOL_SOCKET, one's own, the machine's.
struct ServerOptions {
  std::optional<std::string> socket;
};

struct ServeOptions {
  ServerOptions server;
  bool system = false;
  std::optional<std::string> state;
  std::optional<std::string> data;  // dataset whose model predicts speeds together
  std::string policy = "carpool";
  std::string order = "fair";
  std::string recovery = "reserve";
  std::string window = "mean";
  bool no_mps = false;
  std::optional<std::string> listen;
  std::optional<std::string> tokens;
  std::optional<std::string> group;
  std::optional<std::string> operators;
  double stop_grace_s = 30.0;
  std::optional<std::string> simulated;  // "2xA100-40"
  double speed = 60.0;                   // of simulated time
};

struct SubmitOptions {
  ServerOptions server;
  std::vector<std::string> command;
  std::optional<std::string> name;
  std::optional<unsigned> gpus;
  std::optional<std::string> mem;
  std::optional<std::string> model;  // a file that describes it, for mem "auto"
  std::optional<std::string> mem_limit;
  std::optional<std::string> time;
  std::optional<std::string> runtime;
  std::optional<int> priority;
  std::optional<std::string> job_class;
  std::optional<double> slo_ms;
  bool exclusive = false;
  std::vector<std::int64_t> after;
  std::optional<std::string> array;
  std::optional<unsigned> retries;
  std::optional<std::string> workload;
  std::optional<std::string> folder;
  std::vector<std::string> env;
  bool clean_env = false;
  bool wait = false;
  bool parsable = false;
};

struct QueueOptions {
  ServerOptions server;
  bool all = false;
  std::optional<std::string> user;
  std::optional<std::string> state;
};

// show, explain, cancel, hold, release, requeue
struct JobActionOptions {
  ServerOptions server;
  std::string verb;
  std::vector<std::int64_t> jobs;
};

struct LogsOptions {
  ServerOptions server;
  std::int64_t job = 0;
  bool follow = false;
  unsigned attempt = 0;  // 0: the last
};

struct WaitOptions {
  ServerOptions server;
  std::vector<std::int64_t> jobs;
  std::optional<double> limit_s;
};

struct HistoryOptions {
  ServerOptions server;
  bool all = false;
  std::size_t most = 20;
};

struct DrainOptions {
  ServerOptions server;
  bool undo = false;
  bool wait = false;
};

}  // namespace carpool::app
