#include "interpose/gate/gate.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

[[nodiscard]] bool best_effort(const GateClient& client) {
  return client.present && client.terms.job_class == JobClass::BestEffort;
}

[[nodiscard]] bool slo(const GateClient& client) {
  return client.present && client.terms.job_class == JobClass::Slo;
}

template <typename Amount>
void take_from(Amount& from, Amount amount) {
  from -= std::min(from, amount);
}

}  // namespace

void Gate::tell_policy(const Event& event) {
  if (policy_.observe != nullptr) {
    policy_.observe(memory_, device_, event);
  }
}

// Requests end by the passing of time.
void Gate::settle(Nanoseconds now) {
  for (std::uint32_t number = 0; number < used_; ++number) {
    GateClient& client = clients_[number];
    if (!slo(client)) {
      continue;
    }
    const RequestEnd end = client.detector.take_end(now);
    if (end == RequestEnd::Finished) {
      request_ended(client, number, client.detector.finished_at(), now);
    } else if (end == RequestEnd::Lapsed) {
      client.book.dropped();
      client.commands = 0;
      client.sms = 0;
      tell_policy({.kind = EventKind::RequestEnded, .client = number, .now = now});
    }
  }
}

void Gate::request_ended(GateClient& client,
                         std::uint32_t number,
                         Nanoseconds at,
                         Nanoseconds now) {
  if (client.book.active()) {
    client.tail.request_ended(client.book.ended(at), client.terms.slo_ns, now);
  }
  tell_policy(
      {.kind = EventKind::RequestEnded, .client = number, .now = now, .terms = client.terms});
}

void Gate::apply(const Event& event) {
  if (event.client >= kMostClients) {
    return;
  }
  settle(event.now);
  GateClient& client = clients_[event.client];
  if (event.kind == EventKind::Joined) {
    used_ = std::max(used_, event.client + 1);
    client = GateClient{};
    client.present = true;
    client.terms = event.terms;
    client.detector = RequestDetector({.reports = event.terms.reports_finished});
    client.tail = TailControl({.quantile_permille = event.terms.quantile_permille});
    tell_policy(event);
    return;
  }
  if (!client.present) {
    return;
  }
  Event told = event;
  told.terms = client.terms;
  switch (event.kind) {
    case EventKind::Left:
    case EventKind::Died:
      client = GateClient{};
      tell_policy(told);
      break;
    case EventKind::Submitted:
      submitted(client, told);
      break;
    case EventKind::Finished:
      finished(client, told);
      tell_policy(told);
      break;
    case EventKind::RequestBegan:
      request_began(client, told);
      break;
    case EventKind::RequestEnded:
      client.detector.ended(event.now);
      request_ended(client, event.client, event.now, event.now);
      break;
    case EventKind::Alive:
      client.detector.alive(event.now);
      break;
    case EventKind::Joined:
    case EventKind::Clock:
      tell_policy(told);
      break;
  }
}

void Gate::request_began(GateClient& client, const Event& event) {
  if (slo(client)) {
    const Nanoseconds arrival = event.arrival != 0 ? event.arrival : event.now;
    client.detector.began(event.now);
    client.book.began(arrival, arrival + client.terms.slo_ns);
  }
  tell_policy(event);
}

void Gate::submitted(GateClient& client, const Event& event) {
  const Work& work = event.work;
  ++client.commands;
  client.sms += work.sms;
  if (slo(client)) {
    slo_worked_ = event.now;
    client.bottleneck = work.bottleneck;
    if (client.detector.launched(work.expected_ns, event.now)) {
      client.book.began(event.now, event.now + client.terms.slo_ns);
    }
    client.book.submitted(work.expected_ns);
  } else {
    const std::uint32_t sms = event.decision.sms == 0 ? device_.sms : event.decision.sms;
    const Nanoseconds bound = work.bound_ns * device_.sms / sms;
    (event.decision.sms == 0 ? client.in_flight_ns : client.confined_ns) += bound;
    client.due = std::max(client.due, event.now) + bound;
    client.last_launch = event.now;
    since_drained_ns_ += work.expected_ns;
    virtual_time_ = std::max(virtual_time_, client.start_tag);
    client.finish_tag = client.start_tag + work.bound_ns / std::max(1U, client.terms.weight);
  }
  tell_policy(event);
}

void Gate::finished(GateClient& client, const Event& event) {
  const Work& work = event.work;
  take_from(client.commands, 1U);
  take_from(client.sms, std::uint64_t{work.sms});
  if (slo(client)) {
    slo_worked_ = event.now;
    client.book.finished(work.expected_ns);
    client.detector.finished(client.commands, event.now);
    return;
  }
  const std::uint32_t sms = event.decision.sms == 0 ? device_.sms : event.decision.sms;
  take_from(event.decision.sms == 0 ? client.in_flight_ns : client.confined_ns,
            work.bound_ns * device_.sms / sms);
  client.due = event.now + client.in_flight_ns + client.confined_ns;  // the rest begins now
  if (event.measured_ns > 0) {
    belief_.learn(event.measured_ns);
  }
  const bool drained =
      std::none_of(clients_.begin(), clients_.begin() + used_, [](const GateClient& other) {
        return best_effort(other) && other.commands > 0;
      });
  if (drained) {
    since_drained_ns_ = 0;
  }
}

Decision Gate::ask(const Work& work, Nanoseconds now) {
  if (work.client >= kMostClients || !clients_[work.client].present) {
    return admit();
  }
  settle(now);
  tell_policy({.kind = EventKind::Clock, .client = work.client, .now = now});
  GateClient& client = clients_[work.client];
  if (!client.waiting) {
    client.waiting = true;
    client.asked_since = now;
    client.start_tag = std::max(virtual_time_, client.finish_tag);
    client.reason = HoldReason::None;
  } else {
    client.held_ns[static_cast<std::size_t>(client.reason)] += now - client.last_asked;
  }
  client.last_asked = now;
  const Decision decision = policy_.decide(view(work, now), memory_, work, now);
  if (decision.admitted) {
    client.waiting = false;
  } else if (decision.reason != client.reason) {
    client.reason = decision.reason;
    ++client.holds[static_cast<std::size_t>(decision.reason)];
  }
  return decision;
}

}  // namespace carpool::interpose::gate
