#include "gpu/nvml/owner_thread.hpp"

namespace carpool::gpu {

OwnerThread::OwnerThread() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

void OwnerThread::run(const std::function<void()>& work) {
  Request request{.work = &work};
  std::unique_lock lock(mutex_);
  queue_.push_back(&request);
  asked_.notify_one();
  answered_.wait(lock, [&] { return request.done; });
  if (request.problem) {
    std::rethrow_exception(request.problem);
  }
}

void OwnerThread::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (asked_.wait(lock, stop, [&] { return !queue_.empty(); })) {
    Request* request = queue_.front();
    queue_.pop_front();
    lock.unlock();
    try {
      (*request->work)();
    } catch (...) {
      request->problem = std::current_exception();
    }
    lock.lock();
    // The request is on the stack of the caller and is gone once the caller sees this.
    request->done = true;
    answered_.notify_all();
  }
}

}  // namespace carpool::gpu
