#include "resources.hpp"

#include <algorithm>

namespace fake_cuda {

Descriptors& Descriptors::get() {
  static Descriptors* const all = new Descriptors;  // NOLINT(cppcoreguidelines-owning-memory)
  return *all;
}

ResourceDescriptor* Descriptors::add(const ResourceDescriptor& descriptor) {
  const std::scoped_lock guard(mutex_);
  all_.push_back(std::make_unique<ResourceDescriptor>(descriptor));
  return all_.back().get();
}

bool Descriptors::knows(const ResourceDescriptor* descriptor) {
  const std::scoped_lock guard(mutex_);
  return std::ranges::any_of(all_, [&](const auto& each) { return each.get() == descriptor; });
}

}  // namespace fake_cuda
