// A job as a memory estimator sees it: the model, the training setup and the machine. Plain data,
// filled by readers of files and command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace carpool {

enum class RunMode { Train, Infer };
enum class Precision { Fp32, Bf16, Fp16, AmpBf16, AmpFp16 };
enum class Optimizer { Sgd, Momentum, Adam, AdamFused, AdamSingle, RmsProp, Adagrad };
enum class AttentionKind { Sdpa, Eager };

// One line of a layer list: a leaf module in the order of calls.
struct LayerLine {
  std::string type{};                 // "Conv2d", "LayerNorm", …
  std::vector<std::int64_t> shape{};  // of its output, the batch included
  unsigned element_bytes = 0;         // of its output; 0: not known
  std::int64_t parameters = 0;        // its own
};

struct LayerList {
  std::vector<LayerLine> layers{};
  std::int64_t batch = 1;                 // that the shapes were taken at
  std::int64_t parameters = 0;            // of the whole model, with those outside of layers
  std::int64_t buffers = 0;               // bytes
  std::int64_t input_elements = 0;        // of one sample
  Precision precision = Precision::Fp32;  // that the element sizes were taken at
  bool hidden_norms = false;              // "Identity" behind a convolution stands for a batch norm
};

// Linear, [batch norm], activation, [dropout], … , linear.
struct MlpShape {
  std::int64_t inputs = 0;
  std::vector<std::int64_t> widths{};  // of the hidden layers
  std::int64_t classes = 0;
  std::string activation = "ReLU";
  bool batch_norm = false;
  bool dropout = false;
  std::string last{};  // a layer behind the last linear one: "Softmax", "Sigmoid"; empty: none
};

struct ConvolutionShape {
  std::int64_t filters = 0;
  std::int64_t stride = 1;
};

// Convolution, [batch norm], activation, …, pooling to 1 x 1, linear.
struct CnnShape {
  std::int64_t channels = 3;
  std::int64_t resolution = 224;  // pixels of a side
  std::int64_t kernel = 3;
  std::vector<ConvolutionShape> convolutions{};
  std::int64_t classes = 1000;
  std::string activation = "ReLU";
  bool batch_norm = false;
  bool in_place = false;  // the activation overwrites its input
};

enum class TransformerTask { MaskedLm, CausalLm, Classification };

// From config.json of a Hugging Face model.
struct TransformerShape {
  std::string type{};  // "bert", "gpt2", "llama", …
  TransformerTask task = TransformerTask::CausalLm;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  // 0: as many as heads
  std::int64_t feed_forward = 0;     // 0: 4 x hidden
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;             // learned ones
  std::optional<bool> tied_embeddings{};  // absent: as the type has it
  std::int64_t embedding = 0;             // width of the token embedding; 0: as the type has it
  std::int64_t head_size = 0;             // 0: hidden / heads
  // Tokens that a token attends to, itself included; 0: all before it; absent: as the type has it.
  std::optional<std::int64_t> window{};
  std::int64_t unlisted_parameters = 0;  // that the model has beyond those of its type
  // Elements of hidden size that a block keeps beyond the ones of its type, for relatives of it.
  std::int64_t extra_saved_hidden = 0;
};

// A model of which only sums are known.
struct ModelTotals {
  std::int64_t parameters = 0;
  std::int64_t activation_bytes = 0;  // kept for backward, at the batch of the job; 0: not known
};

using ModelShape = std::variant<LayerList, MlpShape, CnnShape, TransformerShape, ModelTotals>;

struct ModelDescription {
  std::string name{};    // empty: none
  std::string family{};  // "mlp", "cnn", "tv", "timm", "hf", "llm"; empty: not given
  ModelShape shape{};
  // Bytes that autograd keeps for backward, where a trace counted them; else absent.
  std::optional<std::int64_t> traced_saved_bytes{};
  std::int64_t traced_batch = 0;  // that they were counted at; 0: that of the job
};

struct TrainingSetup {
  RunMode mode = RunMode::Train;
  Precision precision = Precision::Fp32;
  Optimizer optimizer = Optimizer::Adam;  // AdamW needs the same
  std::int64_t batch = 1;                 // samples a step, on one GPU
  std::int64_t sequence = 0;              // tokens of a sample; 0: no tokens
  std::int64_t accumulation = 1;          // backward passes a step
  bool checkpointing = false;             // blocks are recomputed in backward
  std::int64_t lora_rank = 0;             // 0: all parameters are trained
  AttentionKind attention = AttentionKind::Sdpa;
  bool tf32 = false;  // in convolutions
  bool channels_last = false;
  bool autotune = false;           // cudnn.benchmark
  std::int64_t decode_tokens = 0;  // made after the prompt, inference of a language model
  unsigned gpus = 1;               // of data parallelism; the batch is that of one GPU
  unsigned zero_stage = 0;         // of DeepSpeed, 0 to 3; 0 with several GPUs: plain data parallel
  // The weights are created in 32 bits on the GPU, then tied and converted there; else they are
  // copied from the CPU as they are, as from_pretrained() does.
  bool built_on_gpu = true;
  // How the loop treats its batches.
  bool fresh_inputs = false;  // a new input tensor each step, not one for all
  bool keeps_output = false;  // the last output lives until the next exists
  bool summary_pass = false;  // a pass with two samples came first
  std::int64_t samples = 0;   // of an epoch, whose last batch is smaller; 0: all are whole
};

// The machine: what every process needs there, independent of the model.
struct MachineFacts {
  std::string name{};                           // "h200"
  std::optional<std::int64_t> context_bytes{};  // absent: not measured
  std::int64_t cublas_workspace = 0;            // bytes, one for forward and one for backward
  std::int64_t constant_bytes = 0;              // in every process that trained
  std::int64_t matmul_transient = 0;            // bytes, for the time of one product
  std::int64_t memory_bytes = 0;                // of its GPU; 0: not known
  bool convolutions_measured = false;  // the workspaces of cuDNN are known from single convolutions
  std::string source{};                // of these figures
};

struct DescribedJob {
  ModelDescription model{};
  TrainingSetup setup{};
  MachineFacts machine{};
};

}  // namespace carpool
