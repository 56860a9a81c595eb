// The daemon's side of the stand-in for nvidia-cuda-mps-control.
#pragma once

#include <filesystem>

// Where daemon, program and clients of one daemon meet.
struct FakePlace {
  std::filesystem::path pipe;
  std::filesystem::path log;
  [[nodiscard]] std::filesystem::path socket() const { return pipe / "control"; }
  [[nodiscard]] std::filesystem::path pid_file() const {
    return pipe / "nvidia-cuda-mps-control.pid";
  }
};

// An old driver: it has neither help nor terminate_client nor get_server_status.
bool fake_is_old();

// A connected socket, or -1 where nobody listens.
int connect_to(const FakePlace& place);

// Serves until it is told to quit; the caller has gone to the background.
int serve(const FakePlace& place);
