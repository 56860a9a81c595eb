// The same with NVTX's header, where the CUDA toolkit is installed; and its numbers.
#include <cstddef>
#include <nvtx3/nvToolsExt.h>
#include <thread>

#include "interpose/library/requests/nvtx_abi.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

namespace ours = interpose::nvtx;

#define SAME(OURS, THEIRS) static_assert(static_cast<int>(OURS) == static_cast<int>(THEIRS))
SAME(ours::kCallbacksTable, NVTX_ETID_CALLBACKS);
SAME(ours::Module::Core, NVTX_CB_MODULE_CORE);
SAME(ours::Module::Core2, NVTX_CB_MODULE_CORE2);
SAME(ours::CoreCall::RangeStartEx, NVTX_CBID_CORE_RangeStartEx);
SAME(ours::CoreCall::RangeStartA, NVTX_CBID_CORE_RangeStartA);
SAME(ours::CoreCall::RangeStartW, NVTX_CBID_CORE_RangeStartW);
SAME(ours::CoreCall::RangeEnd, NVTX_CBID_CORE_RangeEnd);
SAME(ours::CoreCall::RangePushEx, NVTX_CBID_CORE_RangePushEx);
SAME(ours::CoreCall::RangePushA, NVTX_CBID_CORE_RangePushA);
SAME(ours::CoreCall::RangePushW, NVTX_CBID_CORE_RangePushW);
SAME(ours::CoreCall::RangePop, NVTX_CBID_CORE_RangePop);
SAME(ours::Core2Call::DomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(ours::Core2Call::DomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(ours::Core2Call::DomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(ours::Core2Call::DomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME(ours::Core2Call::DomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(ours::Core2Call::DomainRegisterStringW, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(ours::Core2Call::DomainCreateA, NVTX_CBID_CORE2_DomainCreateA);
SAME(ours::Core2Call::DomainCreateW, NVTX_CBID_CORE2_DomainCreateW);
SAME(ours::MessageType::Ascii, NVTX_MESSAGE_TYPE_ASCII);
SAME(ours::MessageType::Wide, NVTX_MESSAGE_TYPE_UNICODE);
SAME(ours::MessageType::Registered, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(sizeof(ours::EventAttributes), sizeof(nvtxEventAttributes_t));
SAME(offsetof(ours::EventAttributes, message_type), offsetof(nvtxEventAttributes_t, messageType));
SAME(offsetof(ours::EventAttributes, message), offsetof(nvtxEventAttributes_t, message));
SAME(offsetof(ours::CallbacksTable, module_functions),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
#undef SAME

nvtxEventAttributes_t event_of(const char* name) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = sizeof event;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  return event;
}

nvtxEventAttributes_t event_of_registered(nvtxStringHandle_t name) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = sizeof event;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = name;
  return event;
}

#include "nvtx_commands.inc"

}  // namespace

int run_nvtx_header(Program& program, int /*count*/) {
  return mark_requests(program);
}

}  // namespace carpool::shim_test
