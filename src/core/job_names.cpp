#include "core/job_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/text/names.hpp"

namespace carpool {
namespace {

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array<Named<JobState>, 7> kStates = {{{"queued", JobState::Queued},
                                                     {"held", JobState::Held},
                                                     {"running", JobState::Running},
                                                     {"stopping", JobState::Stopping},
                                                     {"succeeded", JobState::Succeeded},
                                                     {"failed", JobState::Failed},
                                                     {"cancelled", JobState::Cancelled}}};

constexpr std::array<Named<RunEnd>, 11> kEnds = {{{"succeeded", RunEnd::Succeeded},
                                                  {"failed", RunEnd::Failed},
                                                  {"out-of-memory", RunEnd::OutOfMemory},
                                                  {"over-cap", RunEnd::OverCap},
                                                  {"host-out-of-memory", RunEnd::HostOutOfMemory},
                                                  {"mps-fault", RunEnd::MpsFault},
                                                  {"time-limit", RunEnd::TimeLimit},
                                                  {"cancelled", RunEnd::Cancelled},
                                                  {"never-started", RunEnd::NeverStarted},
                                                  {"machine-trouble", RunEnd::MachineTrouble},
                                                  {"lost", RunEnd::Lost}}};

constexpr std::array<Named<TroubleScope>, 4> kScopes = {{{"job", TroubleScope::Job},
                                                         {"user", TroubleScope::User},
                                                         {"gpus", TroubleScope::Gpus},
                                                         {"machine", TroubleScope::Machine}}};

constexpr std::array<Named<PauseCause>, 3> kPauseCauses = {
    {{"turn", PauseCause::Turn},
     {"interference", PauseCause::Interference},
     {"memory", PauseCause::Memory}}};

constexpr std::array<Named<JobClass>, 3> kClasses = {
    {{"slo", JobClass::Slo}, {"normal", JobClass::Normal}, {"best-effort", JobClass::BestEffort}}};

constexpr std::array<Named<ShareMechanism>, 3> kMechanisms = {
    {{"none", ShareMechanism::None},
     {"time-slicing", ShareMechanism::TimeSlicing},
     {"mps", ShareMechanism::Mps}}};

constexpr std::array<Named<Constraint>, 11> kConstraints = {
    {{"memory", Constraint::Memory},
     {"interference", Constraint::Interference},
     {"latency", Constraint::Latency},
     {"exclusive", Constraint::Exclusive},
     {"gpu-count", Constraint::GpuCount},
     {"other-user", Constraint::OtherUser},
     {"order", Constraint::Order},
     {"no-gpu", Constraint::NoGpu},
     {"machine", Constraint::Machine},
     {"begin", Constraint::Begin},
     {"array-limit", Constraint::ArrayLimit}}};

template <class Value, std::size_t Size>
std::string_view name_in(const std::array<Named<Value>, Size>& table, Value value) {
  return std::ranges::find(table, value, &Named<Value>::value)->name;
}

template <class Value, std::size_t Size>
Result<Value> value_in(const std::array<Named<Value>, Size>& table,
                       std::string_view what,
                       std::string_view name) {
  return find_named(std::span<const Named<Value>>(table), what, name)
      .map([](const Named<Value>* entry) { return entry->value; });
}

}  // namespace

std::string_view name_of(JobState state) {
  return name_in(kStates, state);
}
std::string_view name_of(RunEnd end) {
  return name_in(kEnds, end);
}
std::string_view name_of(TroubleScope scope) {
  return name_in(kScopes, scope);
}
std::string_view name_of(PauseCause cause) {
  return name_in(kPauseCauses, cause);
}
std::string_view name_of(JobClass job_class) {
  return name_in(kClasses, job_class);
}
std::string_view name_of(ShareMechanism mechanism) {
  return name_in(kMechanisms, mechanism);
}
std::string_view name_of(Constraint constraint) {
  return name_in(kConstraints, constraint);
}

Result<RunEnd> run_end(std::string_view name) {
  return value_in(kEnds, "end", name);
}
Result<TroubleScope> trouble_scope(std::string_view name) {
  return value_in(kScopes, "scope", name);
}
Result<PauseCause> pause_cause(std::string_view name) {
  return value_in(kPauseCauses, "cause", name);
}
Result<JobClass> job_class(std::string_view name) {
  return value_in(kClasses, "class", name);
}
Result<ShareMechanism> share_mechanism(std::string_view name) {
  return value_in(kMechanisms, "mechanism", name);
}

}  // namespace carpool
