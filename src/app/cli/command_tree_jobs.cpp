#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {

void add_socket(CLI::App& command, ServerOptions& options) {
  command
      .add_option("--socket",
                  options.socket,
                  "Of the server (default: $CARPOOL_SOCKET, your own, the machine's)")
      ->type_name("PATH");
}

namespace {

// What a job may ask for: of the command line and of #CARPOOL lines alike.
void add_job_settings(CLI::App& command, SubmitOptions& options) {
  command.add_option("--name", options.name, "Shown in listings (default: the program)")
      ->type_name("N");
  command.add_option("--gpus", options.gpus, "GPUs that it needs at once (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  command
      .add_option("--mem",
                  options.mem,
                  "GPU memory that it needs, on each GPU: 12G, 800M, or auto for an estimate")
      ->type_name("SIZE");
  command
      .add_option("--model",
                  options.model,
                  "With --mem auto: a file that describes the model, as carpool estimate reads it")
      ->type_name("FILE");
  command
      .add_option("--mem-limit", options.mem_limit, "Let it take no more, where MPS can enforce it")
      ->type_name("SIZE");
  command.add_option("--time", options.time, "End it after that: 90s, 15m, 2h, 1-00:00:00")
      ->type_name("TIME");
  command.add_option("--runtime", options.runtime, "How long you think it will run, alone")
      ->type_name("TIME");
  command.add_option("--priority", options.priority, "Higher goes first (default: 0)")
      ->type_name("P");
  command.add_option("--class", options.job_class, "slo, normal or best-effort (default: normal)")
      ->type_name("CLASS");
  command.add_option("--slo", options.slo_ms, "With --class slo: the latency that it must keep")
      ->type_name("MS")
      ->check(above_zero());
  command.add_flag("--exclusive", options.exclusive, "Share its GPUs with nobody");
  command.add_option("--after", options.after, "Start when these jobs have succeeded")
      ->delimiter(',')
      ->type_name("JOB,JOB");
  command.add_option("--array", options.array, "One job for each index: 0-9, 1,3,5-7, 0-100:10")
      ->type_name("LIST");
  command
      .add_option(
          "--retries", options.retries, "Run it again so often after it failed (default: 0)")
      ->type_name("N")
      ->check(whole_number());
  command
      .add_option(
          "--workload", options.workload, "What it is known by in profiles (default: its command)")
      ->type_name("NAME");
  command.add_option("--chdir", options.folder, "Run it there (default: here)")->type_name("DIR");
  command.add_option("--env", options.env, "Set NAME=VALUE; NAME alone: as it is here")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--clean-env", options.clean_env, "Hand over only what --env says");
}

CLI::App* add_submit(CLI::App& app, SubmitOptions& options) {
  CLI::App* command =
      app.add_subcommand("submit", "Hand a job to the server: a command, a job file or a script");
  command
      ->add_option("command",
                   options.command,
                   "The program and its arguments after --, JOB.toml, TASK.rad, or a script with "
                   "#CARPOOL lines")
      ->type_name("COMMAND");
  add_job_settings(*command, options);
  command->add_flag("--wait", options.wait, "Return when it has ended, with its exit code");
  command->add_flag("--parsable", options.parsable, "Print the job's number alone");
  add_socket(*command, options.server);
  command->footer(
      "Examples:\n"
      "  carpool submit -- python train.py --epochs 3\n"
      "  carpool submit --mem 12G --time 2h --name resnet -- python train.py\n"
      "  carpool submit --mem auto --model config.json -- python train.py --batch-size 8\n"
      "  carpool submit --array 0-9 -- ./sweep.sh\n"
      "Exit codes: those of every command; 69 where no server answers; with --wait the job's own, "
      "128+N by signal N.");
  return command;
}

CLI::App* add_queue(CLI::App& app, QueueOptions& options) {
  CLI::App* command = app.add_subcommand("queue", "Jobs that wait and run");
  command->add_flag("-a,--all", options.all, "Everybody's");
  command->add_option("--user", options.user, "Of one user")->type_name("NAME");
  command
      ->add_option("--state",
                   options.state,
                   "queued, held, running, stopping, succeeded, failed, cancelled, active "
                   "(default), ended; several with commas")
      ->type_name("S,S");
  add_socket(*command, options.server);
  command->footer("Examples:\n  carpool queue\n  carpool queue --all --state running --json");
  return command;
}

CLI::App* add_job_action(CLI::App& app,
                         const char* verb,
                         const char* description,
                         JobActionOptions& options) {
  CLI::App* command = app.add_subcommand(verb, description);
  command->add_option("jobs", options.jobs, "Numbers of jobs")->required()->type_name("JOB");
  add_socket(*command, options.server);
  command->footer(fmt::format("Examples:\n  carpool {} 17", verb));
  return command;
}

CLI::App* add_logs(CLI::App& app, LogsOptions& options) {
  CLI::App* command = app.add_subcommand(
      "logs", "What a job has printed: its standard output to ours, its standard error to ours");
  command->add_option("job", options.job, "Number of the job")->required()->type_name("JOB");
  command->add_flag("-f,--follow", options.follow, "Go on until the job has ended");
  command->add_option("--attempt", options.attempt, "Of this attempt (default: the last)")
      ->type_name("N")
      ->check(whole_number());
  add_socket(*command, options.server);
  command->footer("Examples:\n  carpool logs 17\n  carpool logs -f 17");
  return command;
}

CLI::App* add_wait(CLI::App& app, WaitOptions& options) {
  CLI::App* command =
      app.add_subcommand("wait", "Wait until jobs have ended, and return their exit code");
  command->add_option("jobs", options.jobs, "Numbers of jobs")->required()->type_name("JOB");
  command->add_option("--limit", options.limit_s, "At most so long; then exit code 75")
      ->type_name("SECONDS")
      ->check(seconds_from(0.0));
  add_socket(*command, options.server);
  command->footer("Examples:\n  carpool wait 17 18\n  carpool wait --limit 60 17");
  return command;
}

CLI::App* add_history(CLI::App& app, HistoryOptions& options) {
  CLI::App* command = app.add_subcommand("history", "Jobs that have ended, the latest first");
  command->add_flag("-a,--all", options.all, "Everybody's");
  command->add_option("-n,--most", options.most, "So many (default: 20)")
      ->type_name("N")
      ->check(whole_number());
  add_socket(*command, options.server);
  command->footer("Examples:\n  carpool history -n 50\n  carpool history --all --json");
  return command;
}

CLI::App* add_drain(CLI::App& app, DrainOptions& options) {
  CLI::App* command =
      app.add_subcommand("drain", "Start no further job; those that run go on (operators)");
  command->add_flag("--wait", options.wait, "Return when none runs any more");
  command->add_flag("--undo", options.undo, "Start jobs again");
  add_socket(*command, options.server);
  command->footer("Examples:\n  carpool drain --wait\n  carpool drain --undo");
  return command;
}

void add_access(CLI::App& command, ServeOptions& options) {
  command.add_flag("--system",
                   options.system,
                   "For all users of this machine, as root: /run/carpool, /var/lib/carpool; jobs "
                   "run as whoever submits them");
  command.add_option("--group", options.group, "With --system: who may connect (default: carpool)")
      ->type_name("GROUP");
  command
      .add_option(
          "--operators", options.operators, "Members see and change everybody's jobs, as root does")
      ->type_name("GROUP");
  command.add_option("--listen", options.listen, "Answer on TCP too, to callers with a token")
      ->type_name("HOST:PORT");
  command
      .add_option("--tokens", options.tokens, "For --listen: lines of \"TOKEN user\", mode 0600")
      ->type_name("FILE");
}

CLI::App* add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App* command = app.add_subcommand(
      "serve", "The server: takes jobs, shares the GPUs among them, and survives its own end");
  add_socket(*command, options.server);
  command->add_option("--state", options.state, "Folder of queue and outputs")->type_name("DIR");
  command->add_option("--policy", options.policy, "Who shares with whom (default: carpool)")
      ->type_name("NAME");
  command
      ->add_option("--order", options.order, "Who goes first: fifo, shortest, hrrn, fair (default)")
      ->type_name("NAME");
  command
      ->add_option(
          "--recovery", options.recovery, "After out-of-memory: reserve (default), carma, aegis")
      ->type_name("NAME");
  command
      ->add_option(
          "--window", options.window, "How samples of a GPU are summed up: mean (default), risk")
      ->type_name("NAME")
      ->check(CLI::IsMember({"mean", "risk"}));
  command
      ->add_option("--data",
                   options.data,
                   "Dataset whose model predicts how fast jobs run together, by --workload")
      ->type_name("DIR");
  command->add_flag("--no-mps", options.no_mps, "Share by time slicing alone");
  command
      ->add_option("--stop-grace",
                   options.stop_grace_s,
                   "Between asking a job to end and killing it (default: 30)")
      ->type_name("SECONDS")
      ->check(seconds_from(0.0));
  add_access(*command, options);
  command
      ->add_option("--simulated",
                   options.simulated,
                   "On simulated GPUs, 2xA100-40 for example; jobs are not really run")
      ->type_name("GPUS");
  command->add_option("--speed", options.speed, "Of simulated time (default: 60)")
      ->type_name("X")
      ->check(above_zero());
  command->footer(
      "Examples:\n"
      "  carpool serve\n"
      "  carpool serve --simulated 2xA100-40 --speed 60\n"
      "  carpool serve --system --operators wheel\n"
      "SIGTERM ends the server and leaves jobs running; the next one finds them.");
  return command;
}

}  // namespace

void add_job_commands(CLI::App& app, ParsedOptions& options) {
  const auto choose = [&options](CLI::App* command, auto member) {
    command->callback([&options, member] { options.chosen = options.*member; });
  };
  choose(add_serve(app, options.serve), &ParsedOptions::serve);
  choose(add_submit(app, options.submit), &ParsedOptions::submit);
  choose(add_queue(app, options.queue), &ParsedOptions::queue);
  choose(add_logs(app, options.logs), &ParsedOptions::logs);
  choose(add_wait(app, options.wait), &ParsedOptions::wait);
  choose(add_history(app, options.history), &ParsedOptions::history);
  choose(add_drain(app, options.drain), &ParsedOptions::drain);
  for (const auto& [verb, description] :
       {std::pair("show", "All that is known of a job"),
        std::pair("explain", "Why a job is where it is, why it waits, and what would change that"),
        std::pair("cancel", "End a job, or take it out of the queue"),
        std::pair("hold", "Keep a waiting job from starting"),
        std::pair("release", "Let a held job go on"),
        std::pair("requeue", "Stop a running job and put it back into the queue")}) {
    CLI::App* command = add_job_action(app, verb, description, options.job_action);
    command->callback([&options, chosen = std::string(verb)] {
      options.job_action.verb = chosen;
      options.chosen = options.job_action;
    });
  }
}

Result<SubmitOptions> parse_submit_words(const std::vector<std::string>& words,
                                         const std::string& where) {
  CLI::App app;
  SubmitOptions options;
  add_job_settings(app, options);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as the library wants them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& problem) {
    return invalid_input(fmt::format("{}: #CARPOOL: {}", where, problem.what()));
  }
  return options;
}

}  // namespace carpool::app
