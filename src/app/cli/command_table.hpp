// The commands: one row each, in the order of the help. A command NAME is the function
// NAME_command(), declared here and defined in src/app/commands/.
#pragma once

#include <span>
#include <string_view>

#include "app/cli/command.hpp"

// clang-format off: one row per line
#define CARPOOL_COMMANDS(ROW)                                                                     \
  ROW(submit,     Jobs,       "Submit a job: a command, a job file or a script")                  \
  ROW(queue,      Jobs,       "List waiting and running jobs")                                    \
  ROW(show,       Jobs,       "Show everything about a job")                                      \
  ROW(explain,    Jobs,       "Explain why a job waits or runs where it does")                    \
  ROW(logs,       Jobs,       "Print the output of a job")                                        \
  ROW(wait,       Jobs,       "Wait until jobs have ended and return their exit code")            \
  ROW(cancel,     Jobs,       "Stop a running job, or remove a waiting one from the queue")       \
  ROW(hold,       Jobs,       "Keep a waiting job from starting")                                 \
  ROW(release,    Jobs,       "Let a held job start")                                             \
  ROW(requeue,    Jobs,       "Stop a running job and put it back into the queue")                \
  ROW(update,     Jobs,       "Change time limit, memory, priority, class or begin of a job")     \
  ROW(history,    Jobs,       "List ended jobs, the latest first")                                \
  ROW(usage,      Jobs,       "Add up GPU time, memory and energy by user or by job")             \
  ROW(knowledge,  Jobs,       "Show what the server has learned of workloads, and how sure it is") \
  ROW(serve,      Server,     "Run the server, which shares the GPUs among jobs")                 \
  ROW(status,     Server,     "Show the server, its GPUs with their jobs, and the queue in short") \
  ROW(drain,      Server,     "Start no further job; running jobs continue (operators only)")     \
  ROW(prune,      Server,     "Remove outputs of ended jobs, by age or by size")                  \
  ROW(journal,    Server,     "Check, repair or copy the journal, which holds queue and history")   \
  ROW(token,      Server,     "Create, list or revoke tokens of users on other machines")         \
  ROW(relay,      Server,     "Connect standard input and output to the server, for ssh")          \
  ROW(run,        Gpus,       "Run a program now: as a job of the server, or on a GPU without one") \
  ROW(gpus,       Gpus,       "Show memory, SM activity, power and clocks of each GPU")           \
  ROW(top,        Gpus,       "Watch GPUs and their processes in the terminal")                   \
  ROW(doctor,     Gpus,       "Check whether jobs can share the GPUs of this machine")            \
  ROW(record,     Gpus,       "Record GPU activity for carpool gpus and carpool top to replay")   \
  ROW(recommend,  Prediction, "Rank partners for a workload, with reasons")                       \
  ROW(predict,    Prediction, "Predict how fast workloads run when they share a GPU")             \
  ROW(assign,     Prediction, "Assign workloads to GPUs so that all run well")                    \
  ROW(estimate,   Prediction, "Estimate the GPU memory of a job; evaluate and fit estimators")    \
  ROW(profile,    Prediction, "Run a program solo on a GPU for seconds and write its profile")    \
  ROW(profiles,   Prediction, "List and compare profiles, or add them to a dataset")              \
  ROW(measure,    Research,   "Measure workloads solo and in groups, and write a dataset")        \
  ROW(dataset,    Research,   "Check a dataset folder and summarise it")                          \
  ROW(train,      Research,   "Train a model and write it to a file")                             \
  ROW(evaluate,   Research,   "Evaluate models and rules on measured groups")                     \
  ROW(simulate,   Research,   "Replay a trace of jobs on simulated GPUs under several policies")  \
  ROW(report,     Research,   "Write an HTML page with charts of a dataset and the models")       \
  ROW(models,     Research,   "List models, rules, objectives and protocols")                     \
  ROW(policies,   Research,   "List placement and gate policies, queue orders, recovery rules")   \
  ROW(estimators, Research,   "List memory estimators and train/test splits")                     \
  ROW(demo,       Research,   "Recommend, predict, evaluate and report on the bundled data")      \
  ROW(help,       Help,       "Show the help of the program or of a command")                     \
  ROW(man,        Help,       "Print a manual page")                                              \
  ROW(completion, Help,       "Print the script that completes command lines in a shell")
// clang-format on

namespace carpool::app {

enum class CommandGroup { Jobs, Server, Gpus, Prediction, Research, Help };
[[nodiscard]] std::string_view title_of(CommandGroup group);

struct CommandRow {
  std::string_view name;
  CommandGroup group;
  std::string_view line;
  CommandSpec (*make)();
};

[[nodiscard]] std::span<const CommandRow> command_table();

#define CARPOOL_DECLARE(name, group, line) [[nodiscard]] CommandSpec name##_command();
CARPOOL_COMMANDS(CARPOOL_DECLARE)
#undef CARPOOL_DECLARE

}  // namespace carpool::app
