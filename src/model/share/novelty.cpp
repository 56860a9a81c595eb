#include "model/share/novelty.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace carpool::model {
namespace {

constexpr double kFarOut = 3.0;  // standard deviations of one metric

// Root mean square difference to the nearest trained workload of another family; infinite: none.
double nearest_stranger(const ShareDesign::Coordinates& places,
                        Eigen::Index which,
                        const ShareDesign::Coordinates& trained) {
  double nearest = std::numeric_limits<double>::infinity();
  if (trained.features.cols() == 0) {
    return nearest;  // no metric to measure a distance by
  }
  for (Eigen::Index other = 0; other < trained.features.rows(); ++other) {
    if (trained.family[static_cast<std::size_t>(other)] !=
        places.family[static_cast<std::size_t>(which)]) {
      const auto difference = places.features.row(which) - trained.features.row(other);
      nearest = std::min(nearest, std::sqrt(difference.array().square().mean()));
    }
  }
  return nearest;
}

}  // namespace

std::vector<bool> unlike_training(const ShareDesign& design,
                                  std::span<const Profile> trained,
                                  std::span<const Profile> profiles) {
  std::vector<bool> unlike(profiles.size(), false);
  const ShareDesign::Coordinates known = design.place(trained);
  const ShareDesign::Coordinates places = design.place(profiles);
  const std::set<std::string> families(known.family.begin(), known.family.end());
  double usual = 0.0;
  for (Eigen::Index i = 0; i < known.features.rows(); ++i) {
    const double distance = nearest_stranger(known, i, known);
    usual = std::isfinite(distance) ? std::max(usual, distance) : usual;
  }
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    unlike[i] = !families.contains(places.family[i]) &&
                (!places.measured[i] || nearest_stranger(places, row, known) > usual ||
                 places.features.row(row).cwiseAbs().maxCoeff() > kFarOut);
  }
  return unlike;
}

}  // namespace carpool::model
