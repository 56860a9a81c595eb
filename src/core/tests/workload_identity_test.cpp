#include "core/workload_identity.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace carpool {
namespace {

// Splits at blanks; a word of the form <…> holds blanks.
JobSpec spec_of(const std::string& line, const std::string& cwd = "/srv/a/p") {
  JobSpec spec{.cwd = cwd};
  std::istringstream stream(line);
  std::string word;
  while (stream >> word) {
    if (word.starts_with('<')) {
      std::string more;
      while (!word.ends_with('>') && stream >> more) {
        word += " " + more;
      }
      word = word.substr(1, word.size() - 2);
    }
    spec.argv.push_back(word);
  }
  return spec;
}

std::string key(const std::string& line, const std::string& cwd = "/srv/a/p") {
  return workload_key(spec_of(line, cwd));
}

std::string without_folder(const std::string& text) {
  return text.substr(0, text.rfind(" @"));
}

TEST(WorkloadIdentity, NamesTheProgramAndWhatDecidesItsWork) {
  EXPECT_EQ(without_folder(key("python3 -u /srv/a/p/train.py --model resnet50 --batch-size 64 "
                               "--seed 7 --output runs/2026-11-16/exp3 --run-id 9f3c")),
            "train.py --model resnet50 --batch-size 64");
  EXPECT_TRUE(key("python train.py").starts_with("train.py @p.")) << key("python train.py");
  EXPECT_EQ(key("nvidia-smi -q"), "nvidia-smi");
  EXPECT_EQ(workload_key({.argv = {"a"}, .workload = "known"}), "known");
  EXPECT_EQ(workload_key({}), "");
}

struct Pair {
  const char* one;
  const char* other;
};

TEST(WorkloadIdentity, RunsOfTheSameWorkAreOneWorkload) {
  const Pair same[] = {
      {"python train.py --seed 1", "python train.py --seed 2"},
      {"python train.py --seed=1", "python3.11 -u train.py"},
      {"python train.py", "/opt/conda/bin/python -X dev /srv/a/p/train.py"},
      {"python train.py --lr 0.1", "python train.py --lr 0.01 --weight-decay 1e-4"},
      {"python train.py --output_dir runs/1", "python train.py --output_dir=/data/out/17"},
      {"python train.py -o out/a", "python train.py -o out/b"},
      {"python train.py --batch-size=64", "python train.py --batch-size 64"},
      {"python main.py trainer.seed=3 model=gpt", "python main.py trainer.seed=4 model=gpt"},
      {"python main.py hydra.run.dir=/var/tmp/1 model=gpt", "python main.py model=gpt"},
      {"python train.py --wandb-name a --wandb_project p", "python train.py --wandb-name b"},
      {"python train.py --tag 2026-11-16", "python train.py --tag 2026-11-17"},
      {"python train.py --log runs/20261116-123000", "python train.py --log runs/20261117-090100"},
      {"python train.py --config runs/1f3a9c2e77/c.yaml", "python train.py --config /x/y/c.yaml"},
      {"python train.py --init 550e8400-e29b-41d4-a716-446655440000",
       "python train.py --init 123e4567-e89b-12d3-a456-426614174000"},
      {"python train.py --since 1731750000", "python train.py --since 1731759999"},
      {"python train.py --device cuda:0", "python train.py --device cuda:1"},
      {"python train.py --resume", "python train.py --resume runs/3/last.ckpt"},
      {"python train.py --resume_from_checkpoint ckpt/9", "python train.py"},
      {"torchrun --nproc_per_node 1 --master_port 29501 train.py --bs 8",
       "torchrun --standalone --master_port=29777 train.py --bs 8"},
      {"python -m torch.distributed.run --nproc-per-node=1 train.py", "torchrun train.py"},
      {"accelerate launch --mixed_precision bf16 train.py --bs 8", "python train.py --bs 8"},
      {"env CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=4 python train.py", "python train.py"},
      {"/usr/bin/env SEED=3 python train.py", "/usr/bin/env SEED=4 python train.py"},
      {"nice -n 5 timeout 3h python train.py", "nohup python train.py"},
      {"conda run --no-capture-output -n torch python train.py", "python train.py"},
      {"bash -c <cd /srv/a/p && python train.py --seed 3>",
       "bash -lc <source env.sh; python train.py --seed 4 > log.txt 2>&1>"},
      {"bash ./run.sh --seed 3", "bash ./run.sh --seed 4"},
      {"python -c <import torch>", "python3 -u -c <import torch>"},
      {"python train.py --data /data/imagenet", "python train.py --data /mnt/nfs/imagenet"},
      {"python train.py --data /var/tmp/tmpa8x01k2_/x.bin",
       "python train.py --data /var/tmp/tmpzz91kq3b/x.bin"},
      {"python /var/tmp/tmpab12cd34.py --bs 1", "python /var/tmp/tmpzz12cd99.py --bs 1"},
      {"python /scratch/run_17/train.py", "python /scratch/run_18/train.py"},
  };
  for (const Pair& pair : same) {
    EXPECT_EQ(key(pair.one), key(pair.other)) << pair.one << "\n" << pair.other;
  }
}

TEST(WorkloadIdentity, DifferentWorkIsTwoWorkloads) {
  const Pair different[] = {
      {"python train.py --batch-size 64", "python train.py --batch-size 128"},
      {"python train.py --model resnet50", "python train.py --model resnet18"},
      {"python train.py model.name=gpt2", "python train.py model.name=llama"},
      {"python train.py --model-name a", "python train.py --model-name b"},
      {"python train.py --fp16", "python train.py"},
      {"python train.py --gradient-checkpointing", "python train.py"},
      {"python train.py --output-dim 512", "python train.py --output-dim 256"},
      {"python train.py --steps 10000000", "python train.py --steps 20000000"},
      {"python train.py", "python eval.py"},
      {"python /srv/a/p/train.py", "python /srv/a/q/train.py"},
      {"python /srv/a/proj1/train.py", "python /srv/a/proj2/train.py"},
      {"python -m pkg.train", "python -m pkg.eval"},
      {"python -c <import torch>", "python -c <import jax>"},
      {"python train.py --config a.yaml", "python train.py --config b.yaml"},
      {"python train.py --data /d/imagenet/train", "python train.py --data /d/cifar/train"},
      {"env BATCH=64 ./train.sh", "env BATCH=128 ./train.sh"},
      {"bash -c <python train.py && python eval.py>", "bash -c <python train.py>"},
      {"a b", "ab"},
      {"python train.py <a b>", "python train.py a b"},
      {"./build/bench", "./other/bench"},
      {"python train.py --epochs -1", "python train.py --epochs 1"},
  };
  for (const Pair& pair : different) {
    EXPECT_NE(key(pair.one), key(pair.other)) << pair.one << "\n" << pair.other;
  }
}

TEST(WorkloadIdentity, TheFolderOfARelativeScriptIsTheWorkingFolder) {
  EXPECT_EQ(key("python train.py", "/srv/a/p"), key("python /srv/a/p/train.py", "/srv"));
  EXPECT_EQ(key("python src/../train.py", "/srv/a/p"), key("python train.py", "/srv/a/p/"));
  EXPECT_NE(key("python train.py", "/srv/a/p"), key("python train.py", "/srv/a/q"));
  EXPECT_EQ(key("python -m pkg.train", "/srv/a/runs/2026-11-16/code"),
            key("python -m pkg.train", "/srv/a/runs/2026-11-17/code"));
}

TEST(WorkloadIdentity, ACopiedScriptIsTheSameAtEverySubmission) {
  const auto script = [](const std::string& text) {
    return workload_key({.argv = {"/bin/bash", "-c", text, "./train.sh", "--fast"}});
  };
  const std::string text =
      "#!/bin/bash\n#CARPOOL --mem 2G\nmodule load cuda\nfor i in 1 2; do\n"
      "python train.py --seed 3\ndone\n";
  EXPECT_TRUE(script(text).starts_with("train.sh code:")) << script(text);
  EXPECT_EQ(script(text), script(text + "# another comment\n"));
  std::string other = text;
  other.replace(other.find("--seed 3"), 8, "--seed 4");
  EXPECT_EQ(script(text), script(other));
  EXPECT_NE(script(text), script(text + "python eval.py\n"));
}

TEST(WorkloadIdentity, JobsOfAnArrayShareItAndTheNumberOfGpusDoesNot) {
  JobSpec spec = spec_of("python train.py");
  spec.array_index = 3;
  EXPECT_EQ(workload_key(spec), key("python train.py"));
  spec.gpus = 4;
  EXPECT_NE(workload_key(spec), key("python train.py"));
  EXPECT_NE(workload_key(spec).find("(4 GPUs)"), std::string::npos);
}

TEST(WorkloadIdentity, LongTextIsCutAndKeepsItsIdentity) {
  const std::string tail(200, 'x');
  const std::string one = key("python train.py --text " + tail + " --bs 1");
  const std::string other = key("python train.py --text " + tail + " --bs 2");
  EXPECT_LE(one.size(), 120U);
  EXPECT_NE(one, other);
  EXPECT_TRUE(one.starts_with("train.py --text xxx")) << one;
}

TEST(WorkloadIdentity, UsersAreKeptApart) {
  const std::string scoped = scoped_workload(1000, "a/b");
  EXPECT_NE(scoped, scoped_workload(1001, "a/b"));
  EXPECT_EQ(workload_name(scoped), "a/b");
  EXPECT_EQ(workload_name("a/b"), "a/b");
}

}  // namespace
}  // namespace carpool
