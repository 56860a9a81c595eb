// The commands: each takes its options, writes its result, and returns an error or nothing.
#pragma once

#include "app/cli/options.hpp"
#include "app/cli/output.hpp"
#include "base/files/config.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct CommandContext {
  const Config& config;
  const Output& output;
  int& exit_code;  // of a command that succeeded; 0 unless it says otherwise
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
[[nodiscard]] Result<void> run_profile(const ProfileOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_profiles(const ProfilesOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_serve(const ServeOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_submit(const SubmitOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_queue(const QueueOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_job_action(const JobActionOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_logs(const LogsOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_wait(const WaitOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_history(const HistoryOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_drain(const DrainOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_estimate(const EstimateOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_estimate_job(const EstimateOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_estimators(const EstimatorListOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_simulate(const SimulateOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_policies(const PolicyListOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_models(const ListOptions&, const CommandContext&);
[[nodiscard]] Result<void> run_man(const ManOptions&, const CommandContext&);

// Runs the one that the options are for.
[[nodiscard]] Result<void> run_command(const CommandOptions& options,
                                       const CommandContext& context);

}  // namespace carpool::app
