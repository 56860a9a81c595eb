#include <variant>

#include "app/cli/command_context.hpp"
#include "app/cli/command_line.hpp"

namespace carpool::app {

Result<void> run_man(const ManOptions& /*options*/, const CommandContext& context) {
  context.output.print(manual_page());
  return {};
}

Result<void> run_command(const CommandOptions& options, const CommandContext& context) {
  struct Dispatch {
    const CommandContext& context;
    Result<void> operator()(const EvaluateOptions& o) const { return run_evaluate(o, context); }
    Result<void> operator()(const TrainOptions& o) const { return run_train(o, context); }
    Result<void> operator()(const PredictOptions& o) const { return run_predict(o, context); }
    Result<void> operator()(const RecommendOptions& o) const { return run_recommend(o, context); }
    Result<void> operator()(const AssignOptions& o) const { return run_assign(o, context); }
    Result<void> operator()(const ReportOptions& o) const { return run_report(o, context); }
    Result<void> operator()(const DemoOptions& o) const { return run_demo(o, context); }
    Result<void> operator()(const DatasetOptions& o) const { return run_dataset(o, context); }
    Result<void> operator()(const GpusOptions& o) const { return run_gpus(o, context); }
    Result<void> operator()(const DoctorOptions& o) const { return run_doctor(o, context); }
    Result<void> operator()(const TopOptions& o) const { return run_top(o, context); }
    Result<void> operator()(const RecordOptions& o) const { return run_record(o, context); }
    Result<void> operator()(const MeasureOptions& o) const { return run_measure(o, context); }
    Result<void> operator()(const ProfileOptions& o) const { return run_profile(o, context); }
    Result<void> operator()(const ProfilesOptions& o) const { return run_profiles(o, context); }
    Result<void> operator()(const ServeOptions& o) const { return run_serve(o, context); }
    Result<void> operator()(const SubmitOptions& o) const { return run_submit(o, context); }
    Result<void> operator()(const QueueOptions& o) const { return run_queue(o, context); }
    Result<void> operator()(const JobActionOptions& o) const { return run_job_action(o, context); }
    Result<void> operator()(const LogsOptions& o) const { return run_logs(o, context); }
    Result<void> operator()(const WaitOptions& o) const { return run_wait(o, context); }
    Result<void> operator()(const HistoryOptions& o) const { return run_history(o, context); }
    Result<void> operator()(const DrainOptions& o) const { return run_drain(o, context); }
    Result<void> operator()(const EstimateOptions& o) const { return run_estimate(o, context); }
    Result<void> operator()(const EstimatorListOptions& o) const {
      return run_estimators(o, context);
    }
    Result<void> operator()(const SimulateOptions& o) const { return run_simulate(o, context); }
    Result<void> operator()(const PolicyListOptions& o) const { return run_policies(o, context); }
    Result<void> operator()(const ListOptions& o) const { return run_models(o, context); }
    Result<void> operator()(const ManOptions& o) const { return run_man(o, context); }
  };
  return std::visit(Dispatch{context}, options);
}

}  // namespace carpool::app
