// The screen of `carpool status`: the server, its GPUs with their jobs, and the queue in short.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

// Answers of the server.
struct StatusAnswers {
  const nlohmann::json& status;   // of /v1/status
  const nlohmann::json& gpus;     // "gpus" of /v1/gpus
  const nlohmann::json& waiting;  // queued and held jobs of all users
  std::string socket{};
};

// "server", "gpus" and "queue": counts by state, how many wait for which reason, and the first
// ones.
[[nodiscard]] nlohmann::json status_object(const StatusAnswers& answers);

// `columns`: of the terminal; empty: cells are not cut.
[[nodiscard]] std::string status_screen(const nlohmann::json& status,
                                        bool colour,
                                        std::optional<std::size_t> columns);

}  // namespace carpool::app
