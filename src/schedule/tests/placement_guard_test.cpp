#include "schedule/placement_guard.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

// Two GPUs of 40 GiB; job 5 of user 1000 holds 30 GiB of GPU 1 under MPS.
class PlacementGuard : public testing::Test {
 protected:
  std::vector<GpuView> gpus_ = [] {
    auto gpus = stub_gpus(2);
    gpus[1].residents.push_back(
        {.job = 5, .uid = 1000, .mechanism = ShareMechanism::Mps, .reserved_bytes = 30 * kGiB});
    return gpus;
  }();
  QueuedJob job_{.job = 7, .uid = 1000, .need_bytes = 10 * kGiB};
  Placement placement_{
      .job = 7, .gpus = {1}, .mechanism = ShareMechanism::Mps, .reserve_bytes = 10 * kGiB};

  [[nodiscard]] std::string violation() const {
    const auto found = find_violation(gpus_, job_, placement_);
    return found ? found->what : "";
  }
};

TEST_F(PlacementGuard, AcceptsAJobThatFits) {
  EXPECT_EQ(violation(), "");
}

TEST_F(PlacementGuard, NamesThePolicyInTheRefusal) {
  job_.need_bytes = placement_.reserve_bytes = 13 * kGiB;
  const auto found = find_violation(gpus_, job_, placement_);
  ASSERT_TRUE(found);
  const Deferral deferral = refusal("random", job_.job, *found);
  EXPECT_EQ(deferral.job, 7);
  EXPECT_EQ(deferral.constraint, Constraint::Memory);
  EXPECT_EQ(deferral.reason, "policy \"random\" placed it on GPU 1, which lacks 3 GiB: refused");
}

TEST_F(PlacementGuard, ChecksTheGpus) {
  placement_.gpus = {2};
  EXPECT_EQ(violation(), "placed it on GPU 2, which does not exist");
  placement_.gpus = {};
  EXPECT_EQ(violation(), "chose 0 GPUs for a job that requests 1");
  placement_.gpus = {0, 1};
  EXPECT_EQ(violation(), "chose 2 GPUs for a job that requests 1");
  job_.gpus = 2;
  placement_.mechanism = ShareMechanism::TimeSlicing;
  placement_.gpus = {0, 0};
  EXPECT_EQ(violation(), "placed it twice on GPU 0");
  placement_.gpus = {0, 1};
  EXPECT_EQ(violation(), "");
  gpus_[1].unusable = "Xid 79";
  EXPECT_EQ(violation(), "placed it on GPU 1, which is not usable (Xid 79)");
}

TEST_F(PlacementGuard, FindsGpusByIndexAndNotByPosition) {
  const std::vector<GpuView> second(gpus_.begin() + 1, gpus_.end());
  EXPECT_FALSE(find_violation(second, job_, placement_));
  placement_.gpus = {0};
  EXPECT_TRUE(find_violation(second, job_, placement_));
}

TEST_F(PlacementGuard, AJobWithAnSloRunsBesideJobsOfItsUserOnly) {
  placement_.mechanism = gpus_[1].residents[0].mechanism = ShareMechanism::TimeSlicing;
  job_.uid = 1001;
  EXPECT_EQ(violation(), "");
  job_.job_class = JobClass::Slo;
  const std::string beside =
      "placed it on GPU 1 beside another user's job 5, and a job with an SLO shares only with jobs "
      "of its own user";
  EXPECT_EQ(violation(), beside);
  job_.job_class = JobClass::BestEffort;
  gpus_[1].residents[0].job_class = JobClass::Slo;
  EXPECT_EQ(violation(), beside);
  job_.uid = 1000;
  EXPECT_EQ(violation(), "");
}

TEST_F(PlacementGuard, ReservationCoversTheNeedOrIsNone) {
  placement_.reserve_bytes = 4 * kGiB;
  EXPECT_EQ(violation(), "reserved 4 GiB for a job that needs 10 GiB");
  placement_.reserve_bytes = 11 * kGiB;
  EXPECT_EQ(violation(), "placed it on GPU 1, which lacks 1 GiB");
  placement_.reserve_bytes = 0;  // as CARMA
  EXPECT_EQ(violation(), "");
  job_.need_bytes = 11 * kGiB;
  EXPECT_EQ(violation(), "placed it on GPU 1, which lacks 1 GiB");
}

TEST_F(PlacementGuard, CapIsAtMostTheReservation) {
  placement_.reserve_bytes = 10 * kGiB;
  placement_.cap_bytes = 10 * kGiB;
  EXPECT_EQ(violation(), "");
  placement_.cap_bytes = 12 * kGiB;
  EXPECT_EQ(violation(), "allowed it 12 GiB and reserved 10 GiB");
}

TEST_F(PlacementGuard, JobOfUnknownNeedMayReserveAnEmptyGpuOrNothing) {
  job_.need_bytes.reset();
  placement_.reserve_bytes = 40 * kGiB;
  EXPECT_EQ(violation(), "placed it on GPU 1, which lacks 30 GiB");
  placement_.gpus = {0};
  gpus_[0].used_bytes = kGiB;  // the driver's own
  EXPECT_EQ(violation(), "");
  placement_.reserve_bytes = 41 * kGiB;
  EXPECT_EQ(violation(), "placed it on GPU 0, which lacks 1 GiB");
  placement_.gpus = {1};
  placement_.reserve_bytes = 0;
  EXPECT_EQ(violation(), "");
}

TEST_F(PlacementGuard, ForeignMemoryIsNotFree) {
  gpus_[1].foreign_bytes = 2 * kGiB;
  EXPECT_EQ(violation(), "placed it on GPU 1, which lacks 2 GiB");
}

TEST_F(PlacementGuard, ExclusiveJobsRunAlone) {
  job_.exclusive = true;
  EXPECT_EQ(violation(), "let an exclusive job share");
  placement_.mechanism = ShareMechanism::None;
  EXPECT_EQ(violation(), "placed it without sharing on GPU 1, which is in use");
  placement_.gpus = {0};
  EXPECT_EQ(violation(), "");
  gpus_[0].foreign = true;
  EXPECT_EQ(violation(), "placed it without sharing on GPU 0, which is in use");
}

TEST_F(PlacementGuard, NoJobJoinsAnExclusiveOne) {
  gpus_[1].residents[0].exclusive = true;
  EXPECT_EQ(violation(), "placed it on GPU 1, which job 5 does not share");
  gpus_[1].residents[0].exclusive = false;
  gpus_[1].residents[0].mechanism = ShareMechanism::None;
  EXPECT_EQ(violation(), "placed it on GPU 1, which job 5 does not share");
}

TEST_F(PlacementGuard, MpsIsForOneUserAndOneGpu) {
  job_.uid = 1001;
  EXPECT_EQ(violation(), "placed it under MPS on GPU 1, which runs another user's jobs");
  placement_.mechanism = ShareMechanism::TimeSlicing;
  EXPECT_EQ(violation(), "");
  placement_.mechanism = ShareMechanism::Mps;
  job_.uid = 1000;
  gpus_[1].mps_possible = false;
  EXPECT_EQ(violation(), "placed it under MPS on GPU 1, where MPS is not possible");
  job_.gpus = 2;
  placement_.gpus = {0, 1};
  EXPECT_EQ(violation(), "placed a job on several GPUs under MPS");
}

TEST_F(PlacementGuard, CountsTheClientsOfAnMpsServer) {
  gpus_[1].residents[0].reserved_bytes = 0;
  gpus_[1].residents.resize(kMostMpsClients - 1, gpus_[1].residents[0]);
  EXPECT_EQ(violation(), "");
  gpus_[1].residents.push_back(gpus_[1].residents[0]);
  EXPECT_EQ(violation(), "placed it under MPS on GPU 1, which has 48 clients");
}

TEST_F(PlacementGuard, RefusesNumbersThatMakeNoSense) {
  for (const double limit : {0.0, -5.0, 100.5, std::nan("")}) {
    placement_.thread_limit = limit;
    EXPECT_NE(violation().find("set a thread limit of"), std::string::npos) << limit;
  }
  placement_.thread_limit = 40.0;
  EXPECT_EQ(violation(), "");
  for (const double progress : {-0.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    placement_.progress = progress;
    EXPECT_NE(violation().find("predicted a progress of"), std::string::npos) << progress;
  }
}

}  // namespace
}  // namespace carpool::schedule
