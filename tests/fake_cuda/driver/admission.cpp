#include "admission.hpp"

#include "code.hpp"

namespace fake_cuda {
namespace {

// A kernel that runs in a green context may be of its primary context.
Result check(Driver& driver, const Stream& stream, const KernelTask& task) {
  const GreenContext* green = stream.context->green.get();
  const Context* home = task.function->module->context;
  if (green != nullptr && home != nullptr &&
      !driver.primary(stream.context->device).covers(*home)) {
    return kInvalidHandle;
  }
  // Its blocks must run at once.
  const std::uint64_t sms = green != nullptr ? green->sms : driver.device().file().rules.sms;
  return task.cooperative && task.blocks() > sms * 32 ? kCooperativeTooLarge : kSuccess;
}

// An event of the primary context may be recorded in its green contexts, but not the reverse.
Result check(Driver& driver, const Stream& stream, const RecordTask& task) {
  const Context* home = task.event->context;
  if (home == stream.context || (!home->green && !stream.context->green)) {
    return kSuccess;
  }
  return stream.context->green && home == &driver.primary(stream.context->device) ? kSuccess
                                                                                  : kInvalidHandle;
}

}  // namespace

Result admit(Driver& driver, const Stream& stream, const Task& task) {
  if (const auto* kernel = std::get_if<KernelTask>(&task); kernel != nullptr) {
    return check(driver, stream, *kernel);
  }
  const auto* record = std::get_if<RecordTask>(&task);
  return record != nullptr ? check(driver, stream, *record) : kSuccess;
}

}  // namespace fake_cuda
