// Multiprocessors of a device, how they are split, and the description of a green context.
#include "../driver/define.hpp"
#include "../driver/resources.hpp"

namespace fake_cuda {
namespace {

// Of compute capability 9.0: what is split off is a multiple of this. The second one holds where
// the caller does without clusters of blocks.
constexpr unsigned kMultiple = 8;
constexpr unsigned kMultipleSingly = 2;

DeviceResource resource_of(int device, unsigned count) {
  DeviceResource resource{};
  resource.type = kResourceSm;
  resource.device = device;
  resource.count = count;
  resource.least = kMultiple;
  resource.multiple_of = kMultiple;
  return resource;
}

// Of a device if the context is no green one.
Result give(DeviceResource* resource, int type, int device, const GreenContext* green) {
  if (resource == nullptr) {
    return kInvalidValue;
  }
  if (type != kResourceSm) {
    return kInvalidResourceType;
  }
  *resource =
      resource_of(device, green != nullptr ? green->sms : Driver::get().device().file().rules.sms);
  return kSuccess;
}

Result of_device(int device, DeviceResource* resource, int type) {
  return device < 0 || device >= Driver::get().gpus() ? kInvalidDevice
                                                      : give(resource, type, device, nullptr);
}

Result of_context(const Context* context, DeviceResource* resource, int type) {
  const Guard guard = Driver::get().lock();
  return Driver::get().knows(context) ? give(resource, type, context->device, context->green.get())
                                      : kInvalidContext;
}

Result of_green(const GreenContext* green, DeviceResource* resource, int type) {
  const Guard guard = Driver::get().lock();
  return Driver::get().knows(green) ? give(resource, type, green->context->device, green)
                                    : kInvalidContext;
}

// One of several parts of the input.
DeviceResource part_of(const DeviceResource& input,
                       unsigned split,
                       unsigned first,
                       unsigned count) {
  DeviceResource part = input;
  part.type = count > 0 ? kResourceSm : kResourceInvalid;
  part.split = split;
  part.first = first;
  part.count = count;
  return part;
}

Result split(DeviceResource* groups,
             unsigned* number,
             const DeviceResource* input,
             DeviceResource* remaining,
             unsigned flags,
             unsigned least) {
  static std::atomic<unsigned> splits = 0;
  if (number == nullptr || input == nullptr || (flags & ~(kSplitSingly | kSplitForClusters)) != 0) {
    return kInvalidValue;
  }
  if (input->type != kResourceSm) {
    return kInvalidResourceType;
  }
  if (least > input->count || (groups != nullptr && *number == 0)) {
    return kInvalidValue;
  }
  const unsigned multiple = (flags & kSplitSingly) != 0 ? kMultipleSingly : kMultiple;
  const unsigned each = (std::max(least, 1U) + multiple - 1) / multiple * multiple;
  const unsigned most = input->count / each;
  // A part can be split again only when it is that of a green context.
  if (most == 0 || input->split != 0) {
    return kInvalidResourceConfiguration;
  }
  if (groups == nullptr) {
    *number = most;
    return kSuccess;
  }
  *number = std::min(*number, most);
  const unsigned id = ++splits;
  const DeviceResource whole = *input;  // the caller may have given one place for both
  for (unsigned group = 0; group < *number; ++group) {
    groups[group] = part_of(whole, id, group * each, each);
  }
  if (remaining != nullptr) {
    *remaining = part_of(whole, id, *number * each, whole.count - *number * each);
  }
  return kSuccess;
}

Result describe(ResourceDescriptor** descriptor, const DeviceResource* resources, unsigned number) {
  if (descriptor == nullptr || resources == nullptr || number == 0) {
    return kInvalidValue;
  }
  ResourceDescriptor all{.device = resources[0].device};
  for (unsigned each = 0; each < number; ++each) {
    const DeviceResource& resource = resources[each];
    if (resource.type != kResourceSm) {
      return kInvalidResourceType;
    }
    // Several parts must be different ones of the same split.
    for (unsigned before = 0; before < each; ++before) {
      const DeviceResource& other = resources[before];
      if (other.device != resource.device || other.split != resource.split || other.split == 0 ||
          other.first == resource.first) {
        return kInvalidResourceConfiguration;
      }
    }
    all.sms += resource.count;
  }
  *descriptor = Descriptors::get().add(all);
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuDeviceGetDevResource,
                 (int device, DeviceResource* resource, int type),
                 of_device(device, resource, type))
FAKE_CUDA_DEFINE(cuCtxGetDevResource,
                 (Context * context, DeviceResource* resource, int type),
                 of_context(context, resource, type))
FAKE_CUDA_DEFINE(cuGreenCtxGetDevResource,
                 (GreenContext * green, DeviceResource* resource, int type),
                 of_green(green, resource, type))
FAKE_CUDA_DEFINE(cuDevSmResourceSplitByCount,
                 (DeviceResource * groups,
                  unsigned* number,
                  const DeviceResource* input,
                  DeviceResource* remaining,
                  unsigned flags,
                  unsigned least),
                 split(groups, number, input, remaining, flags, least))
FAKE_CUDA_DEFINE(cuDevResourceGenerateDesc,
                 (ResourceDescriptor * *descriptor, DeviceResource* resources, unsigned number),
                 describe(descriptor, resources, number))

}  // namespace fake_cuda
