// Options that several commands share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carpool::app {

class OptionSet;

// The server to talk to.
struct ServerOptions {
  std::optional<std::string> socket;  // absent: $CARPOOL_SOCKET, the user's own, the machine's
};
void add_socket(OptionSet& options, ServerOptions& server);

// --data of commands that read a dataset.
void add_data(OptionSet& options, std::optional<std::string>& data);

// --replay of commands that show GPUs.
void add_replay(OptionSet& options, std::optional<std::string>& replay);
// Counters of the driver change no faster.
inline constexpr double kShortestIntervalSeconds = 0.1;

// Where predictions come from: a model file, or a model trained for this command.
struct ModelOptions {
  std::optional<std::string> data;   // dataset folder; absent: configuration, else the bundled one
  std::optional<std::string> model;  // name in the table of models
  std::optional<std::string> model_file;
  std::vector<std::string> tables;  // empty: pairs, and partitions where there is such a table
  std::string features = "default";
  std::uint64_t seed = 0;
};
void add_training(OptionSet& options, ModelOptions& model);
void add_model(OptionSet& options, ModelOptions& model);  // also --model-file

// What a good group is.
struct GoalOptions {
  std::optional<std::string> objective;
  std::optional<double> floor;
  std::vector<double> weights;
  std::optional<double> memory_gib;
};
void add_goal(OptionSet& options, GoalOptions& goal);

}  // namespace carpool::app
