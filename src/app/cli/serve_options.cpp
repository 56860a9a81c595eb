#include "app/cli/serve_options.hpp"

#include "app/cli/option_set.hpp"
#include "policy/policy_registry.hpp"
#include "schedule/queue_order.hpp"
#include "schedule/recovery.hpp"

namespace carpool::app {
namespace {

void add_access_options(OptionSet& options, ServeOptions& serve) {
  options.flag("--system",
               serve.system,
               "Serve all users of this machine, as root: /run/carpool, /var/lib/carpool; a job "
               "runs as the user who submits it");
  options.option("--group",
                 &serve.group,
                 "GROUP",
                 "With --system: group whose members may connect (default: carpool)");
  options.option("--operators",
                 &serve.operators,
                 "GROUP",
                 "Group whose members see and change the jobs of all users, as root does");
  options.option("--user-priority",
                 &serve.user_priority,
                 "N",
                 "Highest priority that users who are not operators may choose (default: 0)");
  options.option("--slo-group",
                 &serve.slo_group,
                 "GROUP",
                 "Group whose members may submit jobs of class slo, as operators may");
}

void add_network_options(OptionSet& options, ServeOptions& serve) {
  options.option("--listen",
                 &serve.listen,
                 "HOST:PORT",
                 "Numeric TCP address to listen on too; TCP callers must send a token "
                 "(docs/remote.md)",
                 {.needs = "--tokens"});
  options.option("--tokens",
                 &serve.tokens,
                 "FILE",
                 "With --listen: file of tokens that `carpool token` writes, mode 0600",
                 {.needs = "--listen"});
  options.option("--tls-cert",
                 &serve.tls_cert,
                 "FILE",
                 "With --listen: PEM certificate of the server, with those of the authorities in "
                 "between; required unless the address is loopback",
                 {.needs = "--tls-key"});
  options.option("--tls-key",
                 &serve.tls_key,
                 "FILE",
                 "PEM key of the certificate, without a passphrase, mode 0600",
                 {.needs = "--tls-cert"});
}

void add_scheduling_options(OptionSet& options, ServeOptions& serve) {
  options.option("--policy",
                 &serve.policy,
                 "NAME",
                 "Placement policy (default: carpool; see carpool policies)",
                 {.examples = listed_names(policy::placement_policies())});
  options.option("--order",
                 &serve.order,
                 "NAME",
                 "Queue order: fifo, shortest, hrrn, fair (default)",
                 {.examples = listed_names(schedule::queue_orders())});
  options.option("--recovery",
                 &serve.recovery,
                 "NAME",
                 "Rule after an out-of-memory failure: reserve (default), carma, aegis",
                 {.examples = listed_names(schedule::recovery_rules())});
  options.option("--window",
                 &serve.window,
                 "NAME",
                 "Summary of the samples of a GPU (default: mean)",
                 {.choices = {"mean", "risk"}});
  options.option("--data",
                 &serve.data,
                 "DIR",
                 "Dataset whose model predicts interference, for jobs by their --workload");
  options.flag("--no-mps", serve.no_mps, "Share GPUs by time slicing only");
  options.flag("--no-shim",
               serve.no_shim,
               "Start jobs without the library in front of the driver, which limits the memory of "
               "jobs that share a GPU, counts their launches and keeps latencies (docs/shim.md)");
  options.flag("--no-profile-windows",
               serve.no_profile_windows,
               "Do not count the kernel launches of jobs (docs/jobs.md, progress)");
  options.flag("--kernel-windows",
               serve.kernel_windows,
               "Record the kernels of each workload once, for 3 s (docs/knowledge.md)");
  options.option("--openmp-threads",
                 &serve.openmp_threads,
                 "N",
                 "OMP_NUM_THREADS of jobs that share a GPU; 0: untouched (docs/placement.md)",
                 {.check = whole_number()});
  options.option("--stop-grace",
                 &serve.stop_grace_s,
                 "SECONDS",
                 "Time between asking a job to stop and killing it (default: 30)",
                 {.check = seconds_from(0.0)});
}

}  // namespace

void add_serve_options(OptionSet& options, ServeOptions& serve) {
  add_socket(options, serve.server);
  options.option("--state", &serve.state, "DIR", "Folder of the queue and the outputs of jobs");
  options.option("--output-limit",
                 &serve.output_limit,
                 "SIZE",
                 "Disk space of each output of a job, of which then only the latest part is kept; "
                 "none: no limit (default: 1G)",
                 {.check = memory_size({"none"})});
  options.option("--keep-outputs",
                 &serve.keep_outputs,
                 "TIME",
                 "Age at which outputs of ended jobs are removed: 30d (default: never)",
                 {.check = time_with_unit()});
  add_scheduling_options(options, serve);
  add_access_options(options, serve);
  add_network_options(options, serve);
  options.flag("--dcgm-names",
               serve.dcgm_names,
               "Metrics of GPUs also under the names of dcgm-exporter (docs/metrics.md)",
               {.excludes = "--simulated"});
  options.option("--dcgm-job-map",
                 &serve.dcgm_job_map,
                 "DIR",
                 "Folder in which to keep, for dcgm-exporter --hpc-job-mapping-dir, which jobs are "
                 "on each GPU",
                 {.excludes = "--simulated"});
  options.option("--simulated",
                 &serve.simulated,
                 "GPUS",
                 "Simulated GPUs, for example 2xA100-40; no job is really run");
  options.option("--speed",
                 &serve.speed,
                 "X",
                 "Speed of simulated time, as a factor (default: 60)",
                 {.check = above_zero(), .needs = "--simulated"});
}

}  // namespace carpool::app
