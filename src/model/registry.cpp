#include "model/registry.hpp"

#include <array>

#include "base/text/names.hpp"
#include "model/published/published.hpp"
#include "model/share/share_model.hpp"

namespace carpool::model {
namespace {

constexpr std::array kKinds = {
    ModelKind{"share",
              "proportional sharing: every member, any group size, intervals, thread limits",
              false,
              train_share,
              load_share},
    ModelKind{"kace-lr",
              "KACE: linear regression on the members' added metrics (published)",
              false,
              train_kace_lr,
              load_sum_model},
    ModelKind{"kace-rf",
              "KACE with a random forest, settings by random search (published)",
              true,
              train_kace_rf,
              load_sum_model},
    ModelKind{"kace-nn",
              "KACE with a small neural network (published)",
              true,
              train_kace_nn,
              load_sum_model},
    ModelKind{"kace-automl",
              "KACE with the best of several regressions by cross-validation (published)",
              true,
              train_kace_automl,
              load_sum_model},
    ModelKind{"xu",
              "Xu et al.: kernel lengths, PCIe and CPU metrics with a random forest (published)",
              true,
              train_xu,
              load_sum_model},
};

}  // namespace

std::span<const ModelKind> model_kinds() {
  return kKinds;
}

Result<const ModelKind*> find_model_kind(std::string_view name) {
  return find_named(model_kinds(), "model", name);
}

}  // namespace carpool::model
