// The commands: each takes its options, writes its result, and returns an error or nothing.
#pragma once

#include "app/options.hpp"
#include "app/output.hpp"
#include "base/config.hpp"
#include "base/result.hpp"

namespace carpool {

struct CommandContext {
  const Config& config;
  const Output& output;
};

[[nodiscard]] Result<void> run_evaluate(const EvaluateOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_evaluate_splits(const EvaluateOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_train(const TrainOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_predict(const PredictOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_recommend(const RecommendOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_assign(const AssignOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_report(const ReportOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_demo(const DemoOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_dataset(const DatasetOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_gpus(const GpusOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_doctor(const DoctorOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_top(const TopOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_record(const RecordOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_measure(const MeasureOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_models(const ListOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_man(const ManOptions&, const CommandContext&);

// Runs the one that the options are for.
[[nodiscard]] Result<void> run_command(const CommandOptions& options,
                                       const CommandContext& context);

}  // namespace carpool
