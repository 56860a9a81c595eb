// Checks of `carpool doctor` of the library in front of the driver.
#include "app/doctor/doctor_shim.hpp"

#include <string>

#include <gtest/gtest.h>

#include "app/doctor/doctor_checks.hpp"
#include "app/tests/healthy_machine.hpp"

namespace carpool::app {
namespace {

void expect_shim_check(const DoctorFacts& facts,
                       const std::string& name,
                       CheckState state,
                       const std::string& found,
                       const std::string& advice) {
  const DoctorCheck check = check_of(facts, name);
  EXPECT_EQ(check.state, state) << name;
  EXPECT_EQ(check.found, found) << name;
  EXPECT_EQ(check.advice, advice) << name;
}

TEST(DoctorShim, TellsWhetherTheLibraryStandsInFrontOfTheDriver) {
  const std::string name = "library of carpool run";
  DoctorFacts facts = healthy();
  expect_shim_check(facts, name, CheckState::Ok, "/opt/carpool/lib/libcarpool_cuda.so", "");
  facts.shim.coverage.opened = "/usr/lib/libother.so";
  EXPECT_EQ(check_of(facts, name).state, CheckState::Degraded);
  EXPECT_EQ(check_of(facts, name).found, "/usr/lib/libother.so takes its place");
  facts.shim.check_problem = "undefined symbol";
  EXPECT_EQ(check_of(facts, name).state, CheckState::Missing);
  EXPECT_EQ(check_of(facts, name).found, "does not load: undefined symbol");
  facts.shim.driver.reset();
  EXPECT_EQ(check_of(facts, name).state, CheckState::Degraded);
  EXPECT_TRUE(can_share(doctor_checks(facts)));
  facts.shim.library_problem = "build it";
  expect_shim_check(facts, name, CheckState::Missing, "not found", "build it");
  EXPECT_TRUE(can_share(doctor_checks(facts)));
}

TEST(DoctorShim, NamesCallsThatPassByTheLibrary) {
  const std::string name = "CUDA calls seen";
  DoctorFacts facts = healthy();
  expect_shim_check(facts, name, CheckState::Ok, "all 8000 look-ups of CUDA 13.0", "");
  facts.shim.coverage.driver_version = 11080;
  expect_shim_check(facts,
                    name,
                    CheckState::Degraded,
                    "the driver is of CUDA 11.8",
                    "Carpool is made for CUDA 12 and newer: update the driver");
  facts.shim.coverage.missed = {"cuLaunchKernelEx, CUDA 13.4"};
  EXPECT_EQ(check_of(facts, name).state, CheckState::Degraded);
  EXPECT_EQ(check_of(facts, name).found,
            "1 of 8000 look-ups pass by the library: cuLaunchKernelEx, CUDA 13.4");
}

TEST(DoctorShim, NamesProgramsWithoutTheLibraryWhereOthersHaveIt) {
  const std::string name = "programs without the library";
  DoctorFacts facts = healthy();
  for (const DoctorCheck& check : doctor_checks(facts)) {
    EXPECT_NE(check.name, name);  // no program has it
  }
  facts.shim.clients = 2;
  expect_shim_check(facts, name, CheckState::Ok, "none beside 2 with it", "");
  facts.shim.foreign = {"process 9 (python, 2.0 GiB) on GPU 0"};
  expect_shim_check(facts,
                    name,
                    CheckState::Ok,
                    "of other users: process 9 (python, 2.0 GiB) on GPU 0; their memory counts as "
                    "foreign",
                    "");
  facts.shim.escaped = {"process 7 (train, 1.0 GiB) on GPU 0"};
  EXPECT_EQ(check_of(facts, name).state, CheckState::Degraded);
  EXPECT_EQ(check_of(facts, name).found, "process 7 (train, 1.0 GiB) on GPU 0");
  EXPECT_NE(check_of(facts, name).advice.find("no memory limit is enforced"), std::string::npos);
  EXPECT_TRUE(can_share(doctor_checks(facts)));
}

TEST(DoctorShim, TellsWhetherProgramsCanShareTheirState) {
  DoctorFacts facts = healthy();
  expect_shim_check(facts, "shared state", CheckState::Ok, "/run/user/1000/carpool/state", "");
  facts.shim.state_problem = "GPU 0: written by a newer Carpool";
  EXPECT_EQ(check_of(facts, "shared state").state, CheckState::Degraded);
  EXPECT_EQ(check_of(facts, "shared state").found,
            "/run/user/1000/carpool/state: GPU 0: written by a newer Carpool");
}

TEST(DoctorShim, ReadsWhatTheChildPrinted) {
  const interpose::Coverage read = interpose::parse_coverage(
      "opened=/lib/libcuda.so.1\nversion=13000\nmissed=cuFoo, CUDA 13.0\nasked=12\nbroken");
  EXPECT_EQ(read.opened, "/lib/libcuda.so.1");
  EXPECT_EQ(read.driver_version, 13000);
  EXPECT_EQ(read.asked, 12U);
  EXPECT_EQ(read.missed, std::vector<std::string>{"cuFoo, CUDA 13.0"});
}

}  // namespace
}  // namespace carpool::app
