// Small jobs to estimate: every model shape with the options that change the replay.
#pragma once

#include <string>
#include <vector>

#include "core/described_job.hpp"
#include "estimate/machines.hpp"

namespace carpool::estimate {

inline DescribedJob mlp_job() {
  return {.model = {.family = "mlp",
                    .shape = MlpShape{.inputs = 1024,
                                      .widths = {2048, 2048},
                                      .classes = 100,
                                      .activation = "GELU",
                                      .batch_norm = true,
                                      .dropout = true}},
          .setup = {.batch = 256},
          .machine = *find_machine("h200")};
}

inline DescribedJob cnn_job() {
  DescribedJob job = mlp_job();
  job.model = {.family = "cnn",
               .shape = CnnShape{.resolution = 64,
                                 .convolutions = {{32, 1}, {64, 2}, {128, 2}},
                                 .classes = 10,
                                 .batch_norm = true}};
  job.setup.batch = 32;
  return job;
}

inline DescribedJob transformer_job(std::string type, TransformerTask task) {
  DescribedJob job = mlp_job();
  job.model = {.family = "hf",
               .shape = TransformerShape{.type = std::move(type),
                                         .task = task,
                                         .hidden = 256,
                                         .layers = 4,
                                         .heads = 4,
                                         .vocabulary = 8000,
                                         .positions = 512}};
  job.setup.batch = 8;
  job.setup.sequence = 128;
  return job;
}

inline DescribedJob list_job() {
  DescribedJob job = mlp_job();
  LayerList list{
      .batch = 4, .parameters = 200'000, .buffers = 1024, .input_elements = 3LL * 64 * 64};
  for (int block = 0; block < 4; ++block) {
    list.layers.push_back({"Conv2d", {4, 32, 64, 64}, 4, 9216});
    list.layers.push_back({"BatchNorm2d", {4, 32, 64, 64}, 4, 64});
    list.layers.push_back({"ReLU", {4, 32, 64, 64}, 4, 0});
  }
  list.layers.push_back({"AdaptiveAvgPool2d", {4, 32, 1, 1}, 4, 0});
  list.layers.push_back({"Conv2d", {4, 8, 1, 1}, 4, 264});
  list.layers.push_back({"SiLU", {4, 8, 1, 1}, 4, 0});
  list.layers.push_back({"Conv2d", {4, 32, 1, 1}, 4, 288});
  list.layers.push_back({"Sigmoid", {4, 32, 1, 1}, 4, 0});
  list.layers.push_back({"Conv2d", {4, 64, 64, 64}, 4, 2048});
  list.layers.push_back({"Flatten", {4, 64}, 4, 0});
  list.layers.push_back({"Linear", {4, 10}, 4, 650});
  job.model = {.name = "net", .family = "timm", .shape = std::move(list)};
  job.setup.batch = 4;
  return job;
}

// 13 models with 8 setups each.
inline std::vector<DescribedJob> jobs_of_all_kinds() {
  std::vector<DescribedJob> jobs = {mlp_job(), cnn_job(), list_job()};
  for (const char* type : {"bert", "electra", "distilbert"}) {
    jobs.push_back(transformer_job(type, TransformerTask::MaskedLm));
    jobs.push_back(transformer_job(type, TransformerTask::Classification));
  }
  for (const char* type : {"gpt2", "opt", "llama", "qwen2"}) {
    jobs.push_back(transformer_job(type, TransformerTask::CausalLm));
  }
  const std::size_t plain = jobs.size();
  for (std::size_t index = 0; index < plain; ++index) {
    for (const Precision precision : {Precision::Bf16, Precision::AmpBf16}) {
      jobs.push_back(jobs[index]);
      jobs.back().setup.precision = precision;
      jobs.push_back(jobs[index]);
      jobs.back().setup.precision = precision;
      jobs.back().setup.mode = RunMode::Infer;
    }
    jobs.push_back(jobs[index]);
    jobs.back().setup.checkpointing = true;
    jobs.back().setup.accumulation = 3;
    jobs.push_back(jobs[index]);
    jobs.back().setup.attention = AttentionKind::Eager;
    jobs.back().setup.optimizer = Optimizer::AdamSingle;
    jobs.push_back(jobs[index]);
    jobs.back().setup.lora_rank = 8;
    jobs.back().setup.optimizer = Optimizer::Adagrad;
  }
  return jobs;
}

}  // namespace carpool::estimate
