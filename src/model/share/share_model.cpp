#include "model/share/share_model.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "model/card.hpp"
#include "model/share/share_forecaster.hpp"

namespace carpool::model {
namespace {

bool measures_anything(std::span<const dataset::GroupRow> rows) {
  return std::any_of(
      rows.begin(), rows.end(), [](const dataset::GroupRow& row) { return row.sum() > 0.0; });
}

std::vector<ShareParameters> share_parameters(std::span<const WorkloadView> views) {
  std::vector<ShareParameters> out;
  out.reserve(views.size());
  for (const WorkloadView& view : views) {
    out.push_back(view.share);
  }
  return out;
}

}  // namespace

ShareModel::ShareModel(ModelCard card,
                       ShareFit fit,
                       ThreadLimitModel limits,
                       std::vector<std::string> limited)
    : card_(std::move(card)),
      fit_(std::move(fit)),
      limits_(std::move(limits)),
      limited_(std::move(limited)) {}

Result<std::unique_ptr<Forecaster>> ShareModel::bind(std::span<const Profile> profiles) const {
  ProfileViews views(fit_, profiles);
  std::vector<LimitParameters> limits;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const WorkloadView& view = views.views()[i];
    const auto known = std::find(limited_.begin(), limited_.end(), profiles[i].workload);
    if (known != limited_.end()) {
      limits.push_back(
          limits_.parameters(static_cast<std::size_t>(std::distance(limited_.begin(), known))));
    } else {
      limits.push_back(limits_.expect(view.share));
      limits.back().sharing_gain = view.share.log_capacity - view.log_solo;
    }
  }
  std::optional<TurnViews> turns;
  if (fit_.turns) {
    turns.emplace(fit_, profiles, views.views());
  }
  return std::make_unique<ShareForecaster>(std::move(views),
                                           std::move(turns),
                                           limits,
                                           IntervalSettings{.noise = fit_.noise,
                                                            .noise_solo = fit_.noise_solo,
                                                            .inflation = fit_.inflation,
                                                            .sizes = fit_.sizes});
}

std::vector<WorkloadView> ShareModel::explain(std::span<const Profile> profiles) const {
  const ProfileViews views(fit_, profiles);
  return {views.views().begin(), views.views().end()};
}

Result<std::unique_ptr<ThroughputModel>> train_share(const TrainingSet& training) {
  const auto selection = dataset::select_features(*training.dataset, training.features);
  if (!selection) {
    return tl::unexpected(selection.error());
  }
  if (!measures_anything(training.rows)) {
    return invalid_input("share needs at least one training row with a positive throughput");
  }
  const std::vector<Profile>& profiles = training.dataset->profiles;
  ShareFit fit = fit_share(profiles, training.rows, *selection);
  ModelCard card = describe_training("share", training, training.rows, *selection);
  card.holdout_mape = fit.holdout_error;
  // Limits are learned only from measurements under limits; without any, bind() gives every
  // workload the parameters that the population predicts.
  if (training.partitions.empty() && training.limited_runs.empty()) {
    return std::make_unique<ShareModel>(std::move(card),
                                        std::move(fit),
                                        ThreadLimitModel::fit({}, {}, {}),
                                        std::vector<std::string>{});
  }
  const ProfileViews views(fit, profiles);
  ThreadLimitModel limits =
      ThreadLimitModel::fit(share_parameters(views.views()),
                            training.partitions,
                            with_recorded_speeds(training.limited_runs, profiles));
  std::vector<std::string> limited;
  limited.reserve(profiles.size());
  for (const Profile& profile : profiles) {
    limited.push_back(profile.workload);
  }
  return std::make_unique<ShareModel>(
      std::move(card), std::move(fit), std::move(limits), std::move(limited));
}

}  // namespace carpool::model
