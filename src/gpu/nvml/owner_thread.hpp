// One thread that owns something which only one thread may touch: calls from any thread are queued
// to it and done there in the order they came.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

namespace carpool::gpu {

// Thread-safe, save for its end: no call may be under way then.
class OwnerThread {
 public:
  OwnerThread();

  // What `work` returned on the owner's thread. Not to be called from there: it would wait for
  // itself.
  template <class Work>
  [[nodiscard]] auto call(Work&& work) -> std::invoke_result_t<Work&> {
    std::optional<std::invoke_result_t<Work&>> result;
    run([&] { result.emplace(work()); });
    return std::move(*result);
  }

 private:
  struct Request {
    const std::function<void()>* work = nullptr;
    bool done = false;
  };

  void run(const std::function<void()>& work);
  void serve(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::condition_variable answered_;
  std::deque<Request*> queue_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace carpool::gpu
