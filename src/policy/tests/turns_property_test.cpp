// Decisions that are carried out over and over, with a fixed model: nothing flaps, bounds hold.
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policy/tests/law_speeds.hpp"
#include "policy/tests/turn_world.hpp"

namespace carpool::policy {
namespace {

constexpr double kStepS = 4.0;

void draw(LawSpeeds& speeds) {
  for (int i = 0; i < 6; ++i) {
    speeds.activity["w" + std::to_string(i)] = *rc::gen::inRange(5, 101) / 100.0;
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    const auto one = "w" + std::to_string(*rc::gen::inRange(0, 6));
    const auto two = "w" + std::to_string(*rc::gen::inRange(0, 6));
    speeds.planted[{one, two}] = *rc::gen::inRange(1, 40);
  }
}

// Up to 12 members on each of one or two GPUs, in any phase, and a queue.
void fill(TurnWorld& world) {
  JobId job = 1;
  const int gpus = *rc::gen::inRange(1, 3);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    GpuView& view = world.gpu(80);
    view.foreign = *rc::gen::inRange(0, 5) == 0;
    for (int i = *rc::gen::inRange(0, 13); i > 0; --i) {
      Resident& resident = world.resident(
          static_cast<std::size_t>(gpu), job++, "w" + std::to_string(*rc::gen::inRange(0, 7)));
      resident.phase = *rc::gen::element(ResidentPhase::Computing, ResidentPhase::Starting);
      resident.phase_since_s = world.now_s - *rc::gen::inRange(0, 100);
      resident.job_class = *rc::gen::inRange(0, 6) == 0 ? JobClass::Slo : JobClass::Normal;
      resident.several_gpus = *rc::gen::inRange(0, 8) == 0;
    }
  }
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    QueuedJob& queued = world.queue(job++, "w" + std::to_string(*rc::gen::inRange(0, 7)));
    if (*rc::gen::arbitrary<bool>()) {
      queued.need_bytes = *rc::gen::inRange<std::uint64_t>(1, 40) * kTestGiB;
    }
  }
}

void check_changes(const TurnWorld& world, const PolicySettings& settings) {
  std::map<JobId, double> paused_at;
  std::map<JobId, double> resumed_at;
  for (const TurnChange& change : world.changes) {
    if (change.paused) {
      if (const auto before = resumed_at.find(change.job); before != resumed_at.end()) {
        RC_ASSERT(change.at_s - before->second >= 60.0 - 1e-6);
      }
      paused_at[change.job] = change.at_s;
    } else {
      RC_ASSERT(change.at_s - paused_at.at(change.job) <= settings.max_pause_s + kStepS);
      resumed_at[change.job] = change.at_s;
      paused_at.erase(change.job);
    }
  }
  for (const auto& [job, at_s] : paused_at) {
    RC_ASSERT(world.now_s - at_s <= settings.max_pause_s + kStepS);
  }
}

RC_GTEST_PROP(TurnsProperty, NothingFlapsWithAFixedModel, ()) {
  LawSpeeds speeds;
  draw(speeds);
  const PolicySettings settings = default_settings("carpool");
  TurnWorld world(speeds, settings);
  fill(world);
  std::map<JobId, bool> fixed;
  for (const GpuView& gpu : world.gpus()) {
    for (const Resident& resident : gpu.residents) {
      fixed[resident.job] = resident.job_class == JobClass::Slo || resident.several_gpus;
    }
  }
  for (int moment = 0; moment < 375; ++moment) {
    const std::size_t before = world.changes.size();
    const PlacementDecision decision = world.act();
    for (std::size_t i = before; i < world.changes.size(); ++i) {
      RC_ASSERT(!fixed[world.changes[i].job]);
    }
    RC_ASSERT(decision.ask_again_s.value_or(1.0) > 0.0);
    if (moment % 5 == 4) {
      for (std::size_t gpu = 0; gpu < world.gpus().size(); ++gpu) {
        for (const JobId job : world.in(ResidentPhase::Starting, gpu)) {
          world.appear(job);
        }
      }
    }
    world.advance(kStepS);
  }
  check_changes(world, settings);
}

RC_GTEST_PROP(TurnsProperty, SomebodyComputesWhereAnybodyCould, ()) {
  LawSpeeds speeds;
  draw(speeds);
  TurnWorld world(speeds);
  fill(world);
  for (int second = 0; second < 60; ++second) {
    (void)world.act();
    for (std::size_t gpu = 0; gpu < world.gpus().size(); ++gpu) {
      const bool nobody = world.in(ResidentPhase::Computing, gpu).empty();
      RC_ASSERT(!nobody || world.in(ResidentPhase::Paused, gpu).empty());
    }
    if (*rc::gen::inRange(0, 4) == 0) {
      const std::size_t gpu = *rc::gen::inRange<std::size_t>(0, world.gpus().size());
      const auto jobs = world.in(ResidentPhase::Computing, gpu);
      if (!jobs.empty()) {
        world.end(*rc::gen::elementOf(jobs));
      }
    }
    world.advance(*rc::gen::inRange(1, 30));
  }
}

RC_GTEST_PROP(TurnsProperty, EveryPlacementFitsAndTheSameSnapshotGetsTheSameAnswer, ()) {
  LawSpeeds speeds;
  draw(speeds);
  TurnWorld world(speeds);
  fill(world);
  const PlacementDecision one = world.decide();
  const PlacementDecision two = world.decide();
  RC_ASSERT(one.place.size() == two.place.size());
  RC_ASSERT(one.pause.size() == two.pause.size());
  RC_ASSERT(one.resume.size() == two.resume.size());
  RC_ASSERT(one.ask_again_s == two.ask_again_s);
  std::map<unsigned, std::uint64_t> reserved;
  for (std::size_t i = 0; i < one.place.size(); ++i) {
    const Placement& placement = one.place[i];
    RC_ASSERT(placement.job == two.place[i].job);
    RC_ASSERT(placement.cap_bytes == two.place[i].cap_bytes);
    RC_ASSERT(placement.mechanism == ShareMechanism::Mps);
    RC_ASSERT(placement.cap_bytes.value_or(0) == placement.reserve_bytes);
    reserved[placement.gpus.at(0)] += placement.reserve_bytes;
  }
  for (const auto& [gpu, bytes] : reserved) {
    RC_ASSERT(bytes <= world.gpus()[gpu].free_bytes());
  }
}

}  // namespace
}  // namespace carpool::policy
