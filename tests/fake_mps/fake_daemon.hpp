// The daemon of the fake nvidia-cuda-mps-control.
#pragma once

#include <filesystem>

// The folder shared by daemon, control program and clients.
struct FakePlace {
  std::filesystem::path pipe;
  std::filesystem::path log;
  [[nodiscard]] std::filesystem::path socket() const { return pipe / "control"; }
  [[nodiscard]] std::filesystem::path pid_file() const {
    return pipe / "nvidia-cuda-mps-control.pid";
  }
};

// An old driver, without help, terminate_client and get_server_status.
bool fake_is_old();

// A connected socket; -1 if no daemon listens.
int connect_to(const FakePlace& place);

// Serves until the command quit; the caller is in the background already.
int serve(const FakePlace& place);
