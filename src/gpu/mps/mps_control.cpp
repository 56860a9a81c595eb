#include "gpu/mps/mps_control.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/process/child_process.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "gpu/mps/mps_parse.hpp"

namespace carpool::gpu {
namespace {

constexpr std::chrono::milliseconds kStartLimit{20'000};

// The output of the program, for a message.
std::string output_of(const CommandResult& result) {
  std::string words = result.out + result.err;
  while (!words.empty() && words.back() == '\n') {
    words.pop_back();
  }
  return words.empty() ? "no output" : fmt::format("output \"{}\"", words);
}

Result<CommandResult> run(const std::filesystem::path& program,
                          const std::string& option,
                          std::map<std::string, std::string> environment) {
  Command command;
  command.argv = {program.string(), option};
  command.environment = std::move(environment);
  return run_command(command, "", kMpsAnswerLimit);
}

}  // namespace

Result<std::filesystem::path> find_mps_program() {
  const char* named = std::getenv("CARPOOL_MPS_CONTROL");
  const bool is_named = named != nullptr && *named != '\0';
  Result<std::filesystem::path> program =
      find_program(is_named ? named : "nvidia-cuda-mps-control");
  std::error_code ignored;
  if (program && std::filesystem::is_regular_file(*program, ignored)) {
    return program;
  }
  if (is_named) {
    return fail(ErrorCode::Unsupported,
                fmt::format("CARPOOL_MPS_CONTROL names {}, which is not a program", named));
  }
  return fail(ErrorCode::Unsupported,
              "there is no nvidia-cuda-mps-control on PATH; it comes with NVIDIA's driver (Debian, "
              "Ubuntu: package nvidia-cuda-mps or nvidia-compute-utils); CARPOOL_MPS_CONTROL may "
              "name it");
}

Result<MpsAbilities> probe_mps() {
  const Result<std::filesystem::path> program = find_mps_program();
  if (!program) {
    return tl::unexpected(program.error());
  }
  // An old program without these options would contact a daemon: name a folder that has none.
  const std::map<std::string, std::string> nowhere =
      mps_environment("/nonexistent", "/nonexistent");
  const Result<CommandResult> help = run(*program, "-h", nowhere);
  if (!help) {
    return tl::unexpected(help.error());
  }
  const Result<CommandResult> version = run(*program, "-v", nowhere);
  MpsAbilities abilities = parse_mps_abilities(help->out, version ? version->out : "");
  abilities.program = *program;
  return abilities;
}

Result<void> MpsControl::start(const std::string& gpu_uuid) const {
  Command command;
  command.argv = {program_.string(), "-d"};
  command.environment = mps_environment(folder_.pipe(), folder_.log());
  command.environment["CUDA_VISIBLE_DEVICES"] = gpu_uuid;
  const Result<CommandResult> result = run_command(command, "", kStartLimit);
  if (!result) {
    return tl::unexpected(result.error());
  }
  if (!result->status.ok()) {
    // Exits silently with status 100 if the driver has no such GPU.
    return fail(
        ErrorCode::Internal,
        fmt::format("cannot start an MPS control daemon for GPU {} in {}: {}, {}; check that "
                    "the GPU exists and that no other daemon uses the folder",
                    gpu_uuid,
                    folder_.root().string(),
                    result->status.text(),
                    output_of(*result)));
  }
  return {};
}

Result<std::string> MpsControl::ask(const std::string& command,
                                    std::chrono::milliseconds limit) const {
  Command program;
  program.argv = {program_.string()};
  program.environment = mps_environment(folder_.pipe(), folder_.log());
  Result<CommandResult> result = run_command(program, fmt::format("{}\n", command), limit);
  if (!result) {
    return fail(result.error().code,
                fmt::format("MPS daemon in {}, command \"{}\": {}",
                            folder_.root().string(),
                            command,
                            result.error().message));
  }
  if (!result->status.ok()) {
    const bool no_daemon = result->err.find("Cannot find MPS control daemon") != std::string::npos;
    return fail(no_daemon ? ErrorCode::NotFound : ErrorCode::Internal,
                fmt::format("MPS daemon in {}, command \"{}\": {}, {}",
                            folder_.root().string(),
                            command,
                            result->status.text(),
                            output_of(*result)));
  }
  return std::move(result->out);
}

Result<std::vector<pid_t>> MpsControl::server_pids() const {
  return ask("get_server_list").and_then(parse_mps_pids);
}

Result<std::vector<MpsServer>> MpsControl::servers() const {
  const Result<std::vector<pid_t>> pids = server_pids();
  if (!pids) {
    return tl::unexpected(pids.error());
  }
  std::vector<MpsServer> servers;
  for (const pid_t pid : *pids) {
    const Result<std::string> status = ask(fmt::format("get_server_status {}", pid));
    if (!status) {
      return tl::unexpected(status.error());
    }
    servers.push_back({pid, parse_mps_fault(*status)});
  }
  return servers;
}

Result<std::vector<MpsClient>> MpsControl::clients() const {
  const Result<std::vector<pid_t>> pids = server_pids();
  if (!pids) {
    return tl::unexpected(pids.error());
  }
  std::vector<MpsClient> clients;
  for (const pid_t server : *pids) {
    const Result<std::vector<pid_t>> of_server =
        ask(fmt::format("get_client_list {}", server)).and_then(parse_mps_pids);
    if (!of_server && of_server.error().code == ErrorCode::NotFound) {
      continue;  // the server has ended meanwhile
    }
    if (!of_server) {
      return tl::unexpected(of_server.error());
    }
    for (const pid_t client : *of_server) {
      clients.push_back({server, client});
    }
  }
  return clients;
}

}  // namespace carpool::gpu
