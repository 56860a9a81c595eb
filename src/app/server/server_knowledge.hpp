// What a server has learned of workloads: kept in its state folder, shown to users.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "base/server_clock.hpp"
#include "knowledge/beliefs.hpp"

namespace carpool::app {

// The file of the beliefs in a state folder.
[[nodiscard]] std::filesystem::path beliefs_file(const std::filesystem::path& state);

// A damaged file is moved aside, with a warning: the server learns anew.
[[nodiscard]] std::unique_ptr<knowledge::Beliefs> open_beliefs(
    const std::filesystem::path& state,
    const knowledge::BeliefSettings& settings,
    std::unique_ptr<InterferenceModel> prior);

// A failure is logged and costs what was learned since the last time.
void save_beliefs(const knowledge::Beliefs& beliefs, const std::filesystem::path& state);

// For the API; empty `uid`: of all users.
[[nodiscard]] nlohmann::json beliefs_object(const knowledge::Beliefs& beliefs,
                                            std::optional<std::uint32_t> uid,
                                            const ShownTime& shown);

}  // namespace carpool::app
