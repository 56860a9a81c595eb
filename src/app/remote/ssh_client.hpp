// HTTP through ssh: each connection is an ssh process whose standard input and output lead to the
// server's socket on the other machine, by `carpool relay` there. No port and no token is needed:
// the server knows the user as whom ssh logs in. Included by .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "app/remote/http_library.hpp"
#include "app/remote/remote_access.hpp"
#include "base/process/child_process.hpp"
#include "base/result.hpp"

namespace carpool::app {

class SshClient final : public httplib::ClientImpl {
 public:
  explicit SshClient(RemoteAccess access);
  SshClient(const SshClient&) = delete;
  SshClient& operator=(const SshClient&) = delete;
  ~SshClient() override;

  // Why a request got no answer. Ends the connection.
  [[nodiscard]] Error explain();

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override;
  // How ssh ended; nothing where none was started, or it had to be killed.
  std::optional<ExitStatus> end_ssh();

  RemoteAccess access_;
  pid_t ssh_ = -1;
  std::optional<Error> not_started_;
};

}  // namespace carpool::app
