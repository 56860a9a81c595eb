#include "app/inputs/job_environment.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::app {
namespace {

// Variables of the session that submits, not of the job.
constexpr std::array<std::string_view, 13> kLeftOut = {"_",
                                                       "SHLVL",
                                                       "PWD",
                                                       "OLDPWD",
                                                       "TERM",
                                                       "LS_COLORS",
                                                       "DISPLAY",
                                                       "XAUTHORITY",
                                                       "WINDOWID",
                                                       "COLUMNS",
                                                       "LINES",
                                                       "HISTFILE",
                                                       "STY"};
constexpr std::array<std::string_view, 8> kLeftOutKinds = {
    "SSH_", "DBUS_", "XDG_", "TMUX", "CUDA_VISIBLE_", "CUDA_MPS_", "CARPOOL_", "BASH_FUNC_"};

// What a user says of the program's requests, and not of the session.
constexpr std::string_view kRequestRanges = "CARPOOL_SHIM_NVTX";

bool is_left_out(std::string_view name) {
  if (name == kRequestRanges) {
    return false;
  }
  return std::ranges::find(kLeftOut, name) != kLeftOut.end() ||
         std::ranges::any_of(kLeftOutKinds,
                             [&](std::string_view kind) { return name.starts_with(kind); });
}

}  // namespace

nlohmann::json current_environment() {
  nlohmann::json env = nlohmann::json::object();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && !is_left_out(text.substr(0, equals))) {
      env[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  return env;
}

Result<void> add_variable(nlohmann::json& env, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    env[text.substr(0, equals)] = text.substr(equals + 1);
    return {};
  }
  const char* value = equals == std::string::npos ? std::getenv(text.c_str()) : nullptr;
  if (value == nullptr) {
    return invalid_input(
        fmt::format("--env {}: expected NAME=VALUE, or the name of a variable that is set", text));
  }
  env[text] = value;
  return {};
}

}  // namespace carpool::app
