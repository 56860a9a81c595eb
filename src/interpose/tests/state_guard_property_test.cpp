// Random lives of clients against a model that adds in the plain way.
#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "interpose/guard/admission.hpp"
#include "interpose/guard/memory_guard.hpp"
#include "interpose/state/kernel_table.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

constexpr std::size_t kMembers = 5;
constexpr std::uint64_t kJobs = 3;

struct ModelJob {
  JobClass job_class = JobClass::BestEffort;
  std::uint64_t limit = kUnlimited;
  std::uint64_t guarantee = 0;
};

// What must be true of every answer, computed without slots and atomics.
struct Model {
  std::uint64_t total = 0;
  std::uint64_t headroom = 0;
  std::array<ModelJob, kJobs> jobs;
  std::array<std::uint64_t, kMembers> used{};
  std::array<std::uint64_t, kMembers> context{};

  static std::size_t job_of(std::size_t member) { return member % kJobs; }
  [[nodiscard]] std::uint64_t used_by(std::size_t job) const {
    std::uint64_t sum = 0;
    for (std::size_t member = 0; member < kMembers; ++member) {
      sum += job_of(member) == job ? used[member] + context[member] : 0;
    }
    return sum;
  }
  [[nodiscard]] bool fits(std::size_t member, std::uint64_t bytes) const {
    const std::size_t own = job_of(member);
    const std::uint64_t after = used_by(own) + bytes;
    if (after > jobs[own].limit) {
      return false;
    }
    std::uint64_t all = bytes;
    std::uint64_t promised = 0;  // used or guaranteed, whichever is more
    for (std::size_t job = 0; job < kJobs; ++job) {
      all += used_by(job);
      promised += std::max(used_by(job) + (job == own ? bytes : 0), jobs[job].guarantee);
    }
    const bool free = jobs[own].job_class == JobClass::Slo || after <= jobs[own].guarantee;
    return (free ? all : promised) + headroom <= total;
  }
};

TEST(StateGuardProperty, AnswersAreThoseOfTheModel) {
  EXPECT_TRUE(rc::check("random charges, releases, limits and transfers", [] {
    const StateFolder folder;
    StateReader server = folder.reader();
    Model model;
    model.total = *rc::gen::inRange<std::uint64_t>(50, 200);
    model.headroom = *rc::gen::inRange<std::uint64_t>(0, 20);
    RC_ASSERT(server.set_gpu_memory(model.total, model.headroom) == StateError::None);
    const auto set_job = [&](std::size_t job) {
      model.jobs[job] = {.job_class = *rc::gen::element(JobClass::BestEffort, JobClass::Slo),
                         .limit = *rc::gen::inRange<std::uint64_t>(0, 150),
                         .guarantee = *rc::gen::inRange<std::uint64_t>(0, 60)};
      RC_ASSERT(server.set_limits(job + 1,
                                  {.job_class = model.jobs[job].job_class,
                                   .limit_bytes = model.jobs[job].limit,
                                   .guarantee_bytes = model.jobs[job].guarantee}) ==
                StateError::None);
    };
    for (std::size_t job = 0; job < kJobs; ++job) {
      set_job(job);
    }
    std::array<Client, kMembers> clients;
    for (std::size_t member = 0; member < kMembers; ++member) {
      RC_ASSERT(folder.join(clients[member], {.job = Model::job_of(member) + 1}) ==
                StateError::None);
    }
    const int steps = *rc::gen::inRange(1, 60);
    for (int step = 0; step < steps; ++step) {
      const std::size_t member = *rc::gen::inRange<std::size_t>(0, kMembers);
      const std::uint64_t bytes = *rc::gen::inRange<std::uint64_t>(0, 60);
      MemoryGuard guard(clients[member]);
      switch (*rc::gen::inRange(0, 8)) {
        case 0: {
          const std::uint64_t had = model.used[member];
          RC_ASSERT(guard.release(bytes) == std::min(bytes, had));
          model.used[member] -= std::min(bytes, had);
          break;
        }
        case 1:
          set_job(Model::job_of(member));
          break;
        case 2:  // leaves or is killed, and comes back
          clients[member].leave();
          model.used[member] = 0;
          model.context[member] = 0;
          RC_ASSERT(folder.join(clients[member], {.job = Model::job_of(member) + 1}) ==
                    StateError::None);
          break;
        case 3:  // the memory of its context is measured
          RC_ASSERT(server.set_context(clients[member].id(), bytes) == StateError::None);
          model.context[member] = bytes;
          break;
        default: {
          // One byte more than what is said to be available never fits; that itself does.
          const std::uint64_t available = guard.view().available;
          RC_ASSERT(!model.fits(member, available + 1));
          RC_ASSERT(available == 0 || model.fits(member, available));
          const bool fits = model.fits(member, bytes);
          RC_ASSERT((guard.charge(bytes) == Verdict::Admitted) == fits);
          model.used[member] += fits ? bytes : 0;
          break;
        }
      }
      for (std::size_t checked = 0; checked < kMembers; ++checked) {
        RC_ASSERT(MemoryGuard(clients[checked]).view().job_used ==
                  model.used_by(Model::job_of(checked)));
      }
    }
  }));
}

TEST(StateGuardProperty, AnyBytesAreATableOrAreRefused) {
  EXPECT_TRUE(
      rc::check("any bytes behind a valid head", [](const std::vector<std::uint8_t>& bytes) {
        std::array<KernelEntry, 64> entries{};
        KernelTable table(entries);
        table.learn(3, 100);
        std::vector<std::byte> file(table.file_bytes());
        RC_ASSERT(table.save(file) == file.size());
        for (const std::uint8_t byte : bytes) {
          file.push_back(std::byte{byte});
        }
        RC_ASSERT(table.load(file) == bytes.empty());
      }));
}

}  // namespace
}  // namespace carpool::interpose
