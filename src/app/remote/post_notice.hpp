// The process that posts the document of `--notify https://…`: it runs as the user of the job, for
// which the supervisor of the notice starts it, and does not need the server.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "base/text/web_address.hpp"

namespace carpool::app {

// Posts once; after a failure that says that the service did not take the document, twice more.
// `pause` waits between the tries.
[[nodiscard]] Result<void> post_notice(const WebAddress& address,
                                       const std::string& document,
                                       const std::function<void(std::chrono::seconds)>& pause);

// `carpool post-notice`: address and document come by the environment (run/supervisor/notice.hpp),
// where other users cannot read them. Returns the exit code, and writes why it failed to standard
// error.
[[nodiscard]] int run_post_notice();

}  // namespace carpool::app
