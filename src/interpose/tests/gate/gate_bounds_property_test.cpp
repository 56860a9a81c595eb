// What holds for any kernels: the bound of work in flight, no starvation, recovery, slack.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "interpose/gate/policy.hpp"
#include "interpose/gate/slack.hpp"
#include "interpose/tests/gate/simulation.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kOverrunPermille = 1300;  // true durations are at most 1.3 times the bound

SimulatedKernel any_kernel(Nanoseconds longest) {
  SimulatedKernel kernel{.name = "k"};
  Work& work = kernel.work;
  work.known = *rc::gen::weightedElement<bool>({{9, true}, {1, false}});
  work.expected_ns = *rc::gen::inRange<Nanoseconds>(2 * kMicrosecond, longest);
  work.bound_ns = work.expected_ns * *rc::gen::inRange<Nanoseconds>(100, 200) / 100;
  work.sms = *rc::gen::inRange<std::uint32_t>(1, 133);
  work.least_sms = *rc::gen::weightedElement<std::uint32_t>({{4, 1}, {1, 132}});
  work.kind = *rc::gen::weightedElement<WorkKind>(
      {{8, WorkKind::Kernel}, {1, WorkKind::Graph}, {1, WorkKind::Cooperative}});
  kernel.true_ns = work.bound_ns * *rc::gen::inRange<Nanoseconds>(200, kOverrunPermille + 1) / 1000;
  return kernel;
}

SimulatedClient any_best_effort(const std::string& name) {
  SimulatedClient client{.name = name};
  client.terms.weight = *rc::gen::inRange<std::uint32_t>(1, 4);
  client.host_ns = *rc::gen::inRange<Nanoseconds>(kMicrosecond, 20 * kMicrosecond);
  const Nanoseconds longest = *rc::gen::element(30, 300, 2000) * kMicrosecond;
  const auto kernels = *rc::gen::inRange<std::size_t>(1, 8);
  for (std::size_t i = 0; i < kernels; ++i) {
    client.kernels.push_back(any_kernel(longest));
  }
  return client;
}

SimulatedClient any_slo(const std::string& name, Nanoseconds end) {
  SimulatedClient client{.name = name};
  client.terms = {.job_class = JobClass::Slo,
                  .slo_ns = *rc::gen::inRange<Nanoseconds>(5 * kMillisecond, 50 * kMillisecond)};
  client.declares = *rc::gen::arbitrary<bool>();
  const auto kernels = *rc::gen::inRange<std::size_t>(1, 10);
  for (std::size_t i = 0; i < kernels; ++i) {
    client.kernels.push_back(any_kernel(200 * kMicrosecond));
    client.kernels.back().work.known = true;
  }
  Nanoseconds at = 0;
  while (at < end) {
    at += *rc::gen::inRange<Nanoseconds>(100 * kMicrosecond, 8 * kMillisecond);
    client.arrivals.push_back(at);
  }
  return client;
}

Scenario any_scenario(Nanoseconds end) {
  Scenario scenario;
  scenario.policy = *rc::gen::element<std::string>("spacetime", "time");
  scenario.device.mps = *rc::gen::arbitrary<bool>();
  scenario.device.sm_limits = *rc::gen::arbitrary<bool>();
  scenario.end = end;
  scenario.trace_from = kNever;
  const int slo = *rc::gen::inRange(1, 3);
  const int best_effort = *rc::gen::inRange(1, 4);
  for (int i = 0; i < slo; ++i) {
    scenario.clients.push_back(any_slo("slo", end));
  }
  for (int i = 0; i < best_effort; ++i) {
    scenario.clients.push_back(any_best_effort("be"));
  }
  return scenario;
}

TEST(GateProperty, WorkInFlightIsBounded) {
  EXPECT_TRUE(rc::check("believed: the budget or one kernel and a lead; true: with overruns", [] {
    const Scenario scenario = any_scenario(20 * kMillisecond);
    const Outcome outcome = simulate(scenario);
    Nanoseconds most = 0;
    Nanoseconds lead = 0;
    for (const Admission& admission : outcome.admissions) {
      const BestEffortView& before = admission.view.best_effort;
      const Nanoseconds done_in = std::max(before.in_flight_ns > 0 ? before.ends_in : 0,
                                           before.confined_ns > 0 ? before.confined_ends_in : 0);
      lead = std::max(lead, admission.view.budget.lead_ns);
      RC_ASSERT(admission.view.budget.lead_ns <= 100 * kMicrosecond);
      if (admission.decision.sms != 0) {
        RC_ASSERT(before.confined_ns == 0 ||
                  before.confined_ends_in <= admission.view.budget.lead_ns);
        RC_ASSERT(admission.decision.sms % 8 == 0);
        RC_ASSERT(admission.decision.sms <= scenario.device.sms / 2);
        continue;
      }
      const Nanoseconds after = before.in_flight_ns + admission.work.bound_ns;
      const Nanoseconds bound = std::max(admission.view.budget.idle_ns, admission.work.bound_ns);
      RC_ASSERT(after <= bound || done_in <= admission.view.budget.lead_ns ||
                done_in <= admission.view.budget.backlog_ns - admission.work.bound_ns);
      RC_ASSERT(admission.view.budget.backlog_ns <= admission.view.budget.idle_ns);
      most = std::max(most, bound);
      // Unknown kernels last as long as they like: the bound is one of beliefs for them.
      if (!admission.work.known) {
        most = kNever / 4;
      }
    }
    // The kernel before the last one may have its overrun left, too.
    const Nanoseconds overrun =
        std::max(most / 1000 * (kOverrunPermille - 1000), outcome.longest_overrun);
    for (const ArrivalSeen& arrival : outcome.arrivals) {
      RC_ASSERT(arrival.best_effort_left <= most + 2 * overrun + lead);
    }
  }));
}

TEST(GateProperty, OnlyShortOrConfinedWorkRunsBesideARequest) {
  EXPECT_TRUE(rc::check("what is admitted while a request is active", [] {
    const Scenario scenario = any_scenario(20 * kMillisecond);
    for (const Admission& admission : simulate(scenario).admissions) {
      if (admission.view.slo.phase == RequestPhase::Idle || admission.decision.by_minimum_share) {
        continue;
      }
      RC_ASSERT(scenario.device.mps && scenario.policy == "spacetime");
      const bool unconfinable = scenario.device.sm_limits && admission.work.known &&
                                admission.work.kind == WorkKind::Kernel &&
                                admission.work.least_sms > admission.view.budget.active_sms / 8 * 8;
      const bool is_short = is_light(admission.work, scenario.device.sms) ||
                            (unconfinable && admission.work.bound_ns <= 100 * kMicrosecond);
      RC_ASSERT(is_short || (scenario.device.sm_limits && admission.decision.sms > 0));
      RC_ASSERT(admission.decision.sms == 0 || admission.decision.sms >= admission.work.least_sms);
      const Nanoseconds after = admission.view.best_effort.in_flight_ns + admission.work.bound_ns;
      RC_ASSERT(admission.decision.sms > 0 || after <= admission.view.budget.active_ns);
    }
  }));
}

// One SLO client that is always in a request: best-effort clients live on the minimum share, which
// they divide in turns.
TEST(GateProperty, NoClientStarves) {
  EXPECT_TRUE(rc::check("holds are bounded, each client gets its minimum share", [] {
    Scenario scenario = any_scenario(0);
    scenario.end = 400 * kMillisecond;
    SimulatedClient& slo = scenario.clients[0];
    slo.terms.slo_ns = 5 * kMillisecond;
    slo.kernels = {any_kernel(200 * kMicrosecond)};
    slo.kernels[0].work.known = true;
    slo.kernels[0].true_ns = kMillisecond;
    slo.arrivals.clear();
    for (Nanoseconds at = 0; at < scenario.end; at += kMillisecond) {
      slo.arrivals.push_back(at);
    }
    Nanoseconds longest = 0;
    for (SimulatedClient& client : scenario.clients) {
      if (client.terms.job_class == JobClass::Slo) {
        continue;
      }
      client.terms.weight = 1;
      for (SimulatedKernel& kernel : client.kernels) {
        kernel.work.known = true;
        kernel.work.bound_ns =
            std::clamp(kernel.work.bound_ns, 30 * kMicrosecond, 600 * kMicrosecond);
        kernel.true_ns = std::min(kernel.true_ns, 600 * kMicrosecond);
        longest = std::max(longest, kernel.work.bound_ns);
      }
    }
    // A kernel of its own, and what another client lags behind: a budget and a kernel.
    const Nanoseconds budget = slo.terms.slo_ns / 10;
    const Nanoseconds bound =
        (2 * longest + budget) * 1000 / kMinimumSharePermille + 10 * kMillisecond;
    const Outcome outcome = simulate(scenario);
    std::map<std::uint32_t, Nanoseconds> admitted;
    for (std::uint32_t index = 0; index < scenario.clients.size(); ++index) {
      if (scenario.clients[index].terms.job_class == JobClass::BestEffort) {
        admitted[index] = 0;
        RC_ASSERT(outcome.clients[index].longest_hold <= bound);
      }
    }
    Nanoseconds all = 0;
    for (const Admission& admission : outcome.admissions) {
      if (const auto client = admitted.find(admission.client); client != admitted.end()) {
        client->second += admission.work.bound_ns;
        all += admission.work.bound_ns;
      }
    }
    // The first and the last launch may be cut off.
    const Nanoseconds least = scenario.end / 1000 * (kMinimumSharePermille / 2);
    RC_ASSERT(all + 2 * longest >= least);
    for (const auto& [client, own] : admitted) {
      RC_ASSERT(own + 2 * longest + budget >= least / static_cast<Nanoseconds>(admitted.size()));
    }
  }));
}

TEST(GateProperty, TheGateOpensAfterASloClientIsKilledOrStopped) {
  EXPECT_TRUE(rc::check("told or not, within 200 ms", [] {
    Scenario scenario = any_scenario(0);
    scenario.end = 320 * kMillisecond;
    scenario.clients.resize(1);
    scenario.clients.push_back(any_best_effort("be"));
    for (SimulatedKernel& kernel : scenario.clients[1].kernels) {
      kernel.true_ns = std::max(kernel.true_ns, 100 * kMicrosecond);
    }
    SimulatedClient& slo = scenario.clients[0];
    slo.declares = true;
    slo.arrivals = {0};
    slo.host_ns = kMillisecond;  // in its request for long
    slo.kernels.resize(1);
    slo.kernels.resize(400, slo.kernels[0]);
    const Nanoseconds at = *rc::gen::inRange<Nanoseconds>(kMillisecond, 100 * kMillisecond);
    if (*rc::gen::arbitrary<bool>()) {
      slo.stops_at = at;
    } else {
      slo.dies_at = at;
      slo.death_is_seen = *rc::gen::arbitrary<bool>();
    }
    const Outcome outcome = simulate(scenario);
    const auto first = std::find_if(
        outcome.admissions.begin(), outcome.admissions.end(), [&](const Admission& admission) {
          return admission.now >= at && admission.view.slo.phase == RequestPhase::Idle;
        });
    // A kernel longer than a quarter of the SLO waits for the minimum share also then.
    const bool all_short = std::all_of(scenario.clients[1].kernels.begin(),
                                       scenario.clients[1].kernels.end(),
                                       [&](const SimulatedKernel& kernel) {
                                         return kernel.work.bound_ns <= slo.terms.slo_ns / 4;
                                       });
    RC_PRE(all_short);
    RC_ASSERT(first != outcome.admissions.end());
    RC_ASSERT(first->now <= at + 200 * kMillisecond);
  }));
}

TEST(GateProperty, OthersGoOnAfterABestEffortClientIsKilledOrStopped) {
  EXPECT_TRUE(rc::check("its work in flight and its turn hold no other for more than 200 ms", [] {
    Scenario scenario = any_scenario(0);
    scenario.end = 220 * kMillisecond;
    scenario.clients.resize(1);
    scenario.clients[0].arrivals.clear();
    scenario.clients[0].arrivals.push_back(kMillisecond);
    scenario.clients.push_back(any_best_effort("first"));
    scenario.clients.push_back(any_best_effort("second"));
    for (SimulatedClient& client : scenario.clients) {
      for (SimulatedKernel& kernel : client.kernels) {
        kernel.work.bound_ns = std::clamp(kernel.work.bound_ns, 100 * kMicrosecond, kMillisecond);
        kernel.true_ns = std::clamp(kernel.true_ns, 100 * kMicrosecond, kMillisecond);
      }
    }
    const Nanoseconds at = *rc::gen::inRange<Nanoseconds>(kMillisecond, 10 * kMillisecond);
    SimulatedClient& first = scenario.clients[1];
    if (*rc::gen::arbitrary<bool>()) {
      first.stops_at = at;
    } else {
      first.dies_at = at;
      first.death_is_seen = *rc::gen::arbitrary<bool>();
    }
    const Outcome outcome = simulate(scenario);
    const bool goes_on = std::any_of(
        outcome.admissions.begin(), outcome.admissions.end(), [&](const Admission& admission) {
          return admission.client == 2 && admission.now > at &&
                 admission.now <= at + 200 * kMillisecond;
        });
    RC_ASSERT(goes_on);
  }));
}

TEST(GateProperty, SlackNeverExceedsTheDeadlineLessTheWorkThatIsLaunched) {
  EXPECT_TRUE(rc::check("random requests", [] {
    RequestBook book;
    Nanoseconds now = 0;
    const int requests = *rc::gen::inRange(1, 20);
    for (int request = 0; request < requests; ++request) {
      now += *rc::gen::inRange<Nanoseconds>(1, kSecond);
      const Nanoseconds slo = *rc::gen::inRange<Nanoseconds>(kMillisecond, kSecond);
      const Nanoseconds arrival = now;
      book.began(arrival, arrival + slo);
      Nanoseconds launched = 0;
      Nanoseconds before = book.slack(now);
      for (const auto kernel : *rc::gen::container<std::vector<Nanoseconds>>(
               rc::gen::inRange<Nanoseconds>(1, 10 * kMillisecond))) {
        book.submitted(kernel);
        launched += kernel;
        RC_ASSERT(book.slack(now) <= before);  // work that was not expected costs slack
        RC_ASSERT(book.slack(now) <= arrival + slo - now - launched);
        RC_ASSERT(book.slack(now + 1) == book.slack(now) - 1);
        before = book.slack(now);
      }
      book.finished(launched);
      RC_ASSERT(book.slack(now) >= before);
      RC_ASSERT(book.slack(now) <= arrival + slo - now);
      now += launched;
      RC_ASSERT(book.ended(now) == now - arrival);
      RC_ASSERT(book.remaining() == 0);
    }
  }));
}

}  // namespace
}  // namespace carpool::interpose::gate
