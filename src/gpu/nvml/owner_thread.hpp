// A thread that owns a resource which only one thread may use. Calls from any thread are queued and
// run in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

namespace carpool::gpu {

// Thread-safe, except that no call may be running at destruction.
class OwnerThread {
 public:
  OwnerThread();  // throws std::system_error where the system refuses a thread

  // Runs `work` on the owner thread and returns its result. Must not be called on that thread,
  // where it would wait for itself. An exception of `work` is thrown here.
  template <class Work>
  [[nodiscard]] auto call(Work&& work) -> std::invoke_result_t<Work&> {
    std::optional<std::invoke_result_t<Work&>> result;
    run([&] { result.emplace(work()); });
    return std::move(*result);
  }

 private:
  struct Request {
    const std::function<void()>* work = nullptr;
    std::exception_ptr problem{};  // thrown by the work
    bool done = false;
  };

  void run(const std::function<void()>& work);
  void serve(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::condition_variable answered_;
  std::deque<Request*> queue_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace carpool::gpu
