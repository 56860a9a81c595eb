#include "shared_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "base/clock.hpp"

namespace fake_cuda {
namespace {

void initialize(DeviceFile& file, const Settings& settings) {
  new (&file) DeviceFile{};
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&file.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  file.rules.timeslice = settings.text("mode", "mps") == "timeslice";
  file.rules.sms = static_cast<std::uint32_t>(settings.number("sms", 132));
  file.rules.slice_ns = static_cast<std::int64_t>(settings.number("slice_us", 2000)) * 1000;
  file.rules.switch_ns = static_cast<std::int64_t>(settings.number("switch_us", 100)) * 1000;
  file.virtual_clock = settings.text("clock", "real") == "virtual";
  file.virtual_now = 1;
  file.capacity = settings.number("memory", 143771) << 20U;
  file.size = sizeof(DeviceFile);
  file.magic = kDeviceMagic;
}

void* map(int descriptor) {
  const int flags = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* address = ::mmap(nullptr, sizeof(DeviceFile), PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (address == MAP_FAILED) {
    std::abort();
  }
  return address;
}

// Makes the file whole under another name, then gives it its name: nobody sees half of it.
void make_file(const std::string& path, const Settings& settings) {
  const std::string draft = path + "." + std::to_string(::getpid());
  const int descriptor = ::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0 || ::ftruncate(descriptor, sizeof(DeviceFile)) != 0) {
    std::abort();
  }
  auto* file = static_cast<DeviceFile*>(map(descriptor));
  initialize(*file, settings);
  ::munmap(file, sizeof(DeviceFile));
  ::close(descriptor);
  if (::link(draft.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    std::abort();  // else another process was first
  }
  ::unlink(draft.c_str());
}

int open_file(const std::string& path, const Settings& settings) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    make_file(path, settings);
    descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  if (descriptor < 0) {
    std::abort();
  }
  return descriptor;
}

std::uint64_t environment_number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

class SharedDevice::Lock {
 public:
  explicit Lock(SharedDevice& device) : device_(device) {
    if (pthread_mutex_lock(&device.file_->mutex) == EOWNERDEAD) {
      device.sweep_locked();
      pthread_mutex_consistent(&device.file_->mutex);
    }
  }
  ~Lock() { pthread_mutex_unlock(&device_.file_->mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;

 private:
  SharedDevice& device_;
};

SharedDevice::SharedDevice(const Settings& settings) {
  const std::string path = settings.text("device", "");
  if (path.empty()) {
    file_ = static_cast<DeviceFile*>(map(-1));
    initialize(*file_, settings);
    return;
  }
  descriptor_ = open_file(path, settings);
  file_ = static_cast<DeviceFile*>(map(descriptor_));
  if (file_->magic != kDeviceMagic || file_->size != sizeof(DeviceFile)) {
    std::abort();
  }
}

SharedDevice::~SharedDevice() {
  ::munmap(file_, sizeof(DeviceFile));
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool SharedDevice::take_byte(std::size_t number) const {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  return ::fcntl(descriptor_, F_OFD_SETLK, &lock) == 0;
}

bool SharedDevice::alive(std::size_t number) const {
  if (static_cast<int>(number) == number_ || descriptor_ < 0) {
    return true;
  }
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  return ::fcntl(descriptor_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool SharedDevice::join() {
  number_ = -1;
  const Lock lock(*this);
  sweep_locked();
  for (std::size_t number = 0; number < file_->clients.size(); ++number) {
    Client& place = file_->clients.at(number);
    if (place.pid == 0 && (descriptor_ < 0 || take_byte(number))) {
      number_ = static_cast<int>(number);
      place.pid = ::getpid();
      place.bytes = {};
      place.mps_priority = static_cast<int>(environment_number("CUDA_MPS_CLIENT_PRIORITY"));
      const std::uint64_t percent = environment_number("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
      place.sm_limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(percent, 100) *
                                                  file_->rules.sms / 100);
      return true;
    }
  }
  return false;
}

void SharedDevice::forget_after_fork() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
}

std::int64_t SharedDevice::clock_ns() const {
  return file_->virtual_clock ? file_->virtual_now : carpool::monotonic_ns();
}

DeviceModel SharedDevice::model(int gpu) {
  return {file_->gpus.at(static_cast<std::size_t>(gpu)), file_->rules, file_->clients};
}

void SharedDevice::advance_all() {
  for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
    model(gpu).advance(clock_ns());
  }
}

void SharedDevice::wake_owners() {
  for (const Gpu& gpu : file_->gpus) {
    for (const Work& work : gpu.works) {
      if (work.state == WorkState::Done && work.client != number_) {
        Client& owner = file_->clients.at(static_cast<std::size_t>(work.client));
        owner.wake.fetch_add(1, std::memory_order_release);
        ::syscall(SYS_futex, &owner.wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
      }
    }
  }
}

bool SharedDevice::has_finished(const Gpu& gpu) const {
  return std::ranges::any_of(gpu.works, [this](const Work& work) {
    return work.state == WorkState::Done && work.client == number_;
  });
}

bool SharedDevice::allocate(int gpu, std::uint64_t bytes) {
  const Lock lock(*this);
  Gpu& device = file_->gpus.at(static_cast<std::size_t>(gpu));
  if (bytes > file_->capacity - device.used_bytes) {
    sweep_locked();
  }
  if (bytes > file_->capacity - device.used_bytes) {
    return false;
  }
  device.used_bytes += bytes;
  device.peak_bytes = std::max(device.peak_bytes, device.used_bytes);
  client().bytes.at(static_cast<std::size_t>(gpu)) += bytes;
  return true;
}

void SharedDevice::release(int gpu, std::uint64_t bytes) {
  const Lock lock(*this);
  file_->gpus.at(static_cast<std::size_t>(gpu)).used_bytes -= bytes;
  client().bytes.at(static_cast<std::size_t>(gpu)) -= bytes;
}

std::uint64_t SharedDevice::free_bytes(int gpu) {
  const Lock lock(*this);
  sweep_locked();
  return file_->capacity - file_->gpus.at(static_cast<std::size_t>(gpu)).used_bytes;
}

std::optional<int> SharedDevice::submit(int gpu, WorkRequest request) {
  const Lock lock(*this);
  request.client = number_;
  // MPS maps all priorities of a client of lower priority below those of the others.
  request.priority += client().mps_priority * 100;
  DeviceModel device = model(gpu);
  device.advance(clock_ns());
  return device.submit(request);
}

std::optional<std::int64_t> SharedDevice::collect(int gpu, int work) {
  const Lock lock(*this);
  Work& place =
      file_->gpus.at(static_cast<std::size_t>(gpu)).works.at(static_cast<std::size_t>(work));
  if (place.state != WorkState::Done) {
    return std::nullopt;
  }
  place.state = WorkState::Free;
  return place.end;
}

std::optional<std::int64_t> SharedDevice::run() {
  const Lock lock(*this);
  advance_all();
  wake_owners();
  std::optional<std::int64_t> next;
  for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
    if (has_finished(file_->gpus.at(static_cast<std::size_t>(gpu)))) {
      return clock_ns();
    }
    if (const auto event = model(gpu).next_event(); event && (!next || *event < *next)) {
      next = event;
    }
  }
  return next;
}

void SharedDevice::set_time(std::int64_t time) {
  const Lock lock(*this);
  file_->virtual_now = std::max(file_->virtual_now, time);
  advance_all();
  wake_owners();
}

void SharedDevice::retire(std::size_t number) {
  Client& gone = file_->clients.at(number);
  for (std::size_t gpu = 0; gpu < file_->gpus.size(); ++gpu) {
    model(static_cast<int>(gpu)).drop(static_cast<std::int32_t>(number));
    file_->gpus.at(gpu).used_bytes -= gone.bytes.at(gpu);
    gone.bytes.at(gpu) = 0;
  }
  for (std::size_t count = 0; count < kCounts; ++count) {
    file_->retired.values.at(count) += gone.counts.values.at(count).exchange(0);
  }
  gone.pid = 0;
}

void SharedDevice::sweep_locked() {
  for (std::size_t number = 0; number < file_->clients.size(); ++number) {
    if (file_->clients.at(number).pid != 0 && !alive(number)) {
      retire(number);
    }
  }
}

void SharedDevice::sweep() {
  const Lock lock(*this);
  sweep_locked();
}

std::uint64_t SharedDevice::total(Count count) {
  const Lock lock(*this);
  std::uint64_t sum = file_->retired[count];
  for (Client& each : file_->clients) {
    sum += each.counts[count];
  }
  return sum;
}

}  // namespace fake_cuda
