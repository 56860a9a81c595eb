#include <algorithm>
#include <array>
#include <span>

#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {

TensorId TransformerModel::then(TensorId old, TensorId made) {
  tape_->drop(old);
  return made;
}

TensorId TransformerModel::linear(const Product& product, TensorId x) {
  Tape& tape = *tape_;
  TensorId input = x;
  if (sizes_.autocast && tape.bytes(x) == 4) {
    input = tape.tensor(tape.elements(x), 2, tape.needs_gradient(x));
    tape.node(input, {x}, {}, {}, {});
  }
  TensorId weight = kNoTensor;
  TensorId bias = kNoTensor;
  if (sizes_.autocast) {
    weight = tape.autocast(product.weight);
    bias = product.bias != kNoParameter ? tape.autocast(product.bias) : kNoTensor;
  }
  tape.forward_matmul();
  TensorId out = tape.tensor(times(tape.elements(x) / product.in, product.out), sizes_.compute);
  const bool trained = tape.parameter(product.weight).trained;
  const std::array saved = {trained ? input : kNoTensor,
                            tape.needs_gradient(input) ? weight : kNoTensor};
  const std::array ids = {product.weight, product.bias};
  tape.node(out,
            {input},
            saved,
            std::span(ids).first(product.bias == kNoParameter ? 1 : 2),
            {.matmul = true, .gradient_bytes = sizes_.compute});
  for (const TensorId copy : {weight, bias}) {
    if (copy != kNoTensor) {
      tape.drop(copy);
    }
  }
  if (product.lora != kNoParameter) {
    out = low_rank(product, input, out);
  }
  if (input != x) {
    tape.drop(input);
  }
  return out;
}

// out + scale * B(A(x)); takes `out` over.
TensorId TransformerModel::low_rank(const Product& product, TensorId x, TensorId out) {
  Tape& tape = *tape_;
  const ParameterId first = product.lora;
  const ParameterId second = product.lora + 1;
  std::array casts = {kNoTensor, kNoTensor};
  if (sizes_.autocast) {
    casts = {tape.autocast(first), tape.autocast(second)};
  }
  const NodeTraits traits{.matmul = true, .gradient_bytes = sizes_.compute};
  const std::int64_t rows = tape.elements(x) / product.in;
  const TensorId narrow = tape.tensor(times(rows, lora_rank_), sizes_.compute);
  tape.node(narrow,
            {x},
            std::array{x, tape.needs_gradient(x) ? casts[0] : kNoTensor},
            std::array{first},
            traits);
  const TensorId wide = tape.tensor(times(rows, product.out), sizes_.compute);
  tape.node(wide, {narrow}, std::array{narrow, casts[1]}, std::array{second}, traits);
  if (sizes_.autocast) {
    tape.drop(casts[0]);
    tape.drop(casts[1]);
  }
  tape.drop(narrow);
  const TensorId scaled = then(wide, unary(wide, Keeps::Nothing));
  const TensorId sum = add(out, scaled);
  tape.drop(out);
  tape.drop(scaled);
  return sum;
}

TensorId TransformerModel::layer_norm(const Norm& norm, TensorId x) {
  Tape& tape = *tape_;
  TensorId input = x;
  if (sizes_.autocast && tape.bytes(x) == 2) {
    input = tape.tensor(tape.elements(x), 4, tape.needs_gradient(x));
    tape.node(input, {x}, {}, {}, {});
  }
  const TensorId out = tape.tensor(tape.elements(x), sizes_.parameter);
  const TensorId statistics = tape.tensor(tape.elements(x) / norm.width * 2, 4);
  tape.node(out,
            {input},
            std::array{input, statistics},
            std::array{norm.first, norm.first + 1},
            {.gradient_bytes = sizes_.parameter});
  tape.drop(statistics);
  if (input != x) {
    tape.drop(input);
  }
  return out;
}

// x / sqrt(mean(x²)) in 32 bits, back to the input's type, times the weight.
TensorId TransformerModel::rms_norm(const Norm& norm, TensorId x) {
  Tape& tape = *tape_;
  const bool narrow = tape.bytes(x) == 2;
  const std::int64_t elements = tape.elements(x);
  TensorId wide = x;
  if (narrow) {
    wide = tape.tensor(elements, 4, tape.needs_gradient(x));
    tape.node(wide, {x}, {}, {}, {});
  }
  const TensorId squares = tape.tensor(elements, 4);
  tape.node(squares, {wide}, std::array{wide}, {}, {});
  tape.drop(squares);
  TensorId normal = tape.tensor(elements, 4);
  tape.node(normal, {wide}, std::array{wide}, {}, {});
  if (narrow) {
    tape.drop(wide);
    const TensorId cast = tape.tensor(elements, 2);
    tape.node(cast, {normal}, {}, {}, {});
    tape.drop(normal);
    normal = cast;
  }
  const TensorId out = tape.tensor(elements, tape.bytes(normal));
  tape.node(out,
            {normal},
            std::array{tape.parameter(norm.first).trained ? normal : kNoTensor},
            std::array{norm.first},
            {.gradient_bytes = sizes_.parameter});
  tape.drop(normal);
  return out;
}

TensorId TransformerModel::norm(const Norm& norm, TensorId x) {
  return llama_ ? rms_norm(norm, x) : layer_norm(norm, x);
}

TensorId TransformerModel::unary(TensorId x, Keeps keeps) {
  const TensorId out = tape_->tensor(tape_->elements(x), tape_->bytes(x));
  TensorId kept = kNoTensor;
  if (keeps != Keeps::Nothing) {
    kept = keeps == Keeps::Input ? x : out;
  }
  tape_->node(out, {x}, std::array{kept}, {}, {});
  return out;
}

TensorId TransformerModel::sized_copy(TensorId x, std::int64_t elements) {
  const TensorId out = tape_->tensor(elements, tape_->bytes(x));
  tape_->node(out, {x}, {}, {}, {});
  return out;
}

TensorId TransformerModel::dropout(TensorId x) {
  if (!training_) {
    tape_->hold(x);
    return x;
  }
  const TensorId out = tape_->tensor(tape_->elements(x), tape_->bytes(x));
  const TensorId mask = tape_->tensor(tape_->elements(x), 1);
  tape_->node(out, {x}, std::array{mask}, {}, {});
  tape_->drop(mask);
  return out;
}

TensorId TransformerModel::add(TensorId a, TensorId b) {
  const TensorId out =
      tape_->tensor(tape_->elements(a), std::max(tape_->bytes(a), tape_->bytes(b)));
  tape_->node(out, {a, b}, {}, {}, {.passes_gradient = true});
  return out;
}

TensorId TransformerModel::multiply(TensorId a, TensorId b) {
  const TensorId out =
      tape_->tensor(tape_->elements(a), std::max(tape_->bytes(a), tape_->bytes(b)));
  tape_->node(out, {a, b}, std::array{a, b}, {}, {});
  return out;
}

// `key` and `value` are kNoTensor where `query` holds all three.
TensorId TransformerModel::attend(TensorId query,
                                  TensorId key,
                                  TensorId value,
                                  std::int64_t elements) {
  if (eager_) {
    return attend_eagerly(query, key, value, elements);
  }
  Tape& tape = *tape_;
  const unsigned bytes = tape.bytes(query);
  const bool shared = key != kNoTensor && tape.elements(key) < elements;
  if (shared && (masks_window_ || bytes == 4)) {
    const TensorId keys = sized_copy(key, elements);
    const TensorId values = sized_copy(value, elements);
    // Where no mask is given, heads are shared inside the kernel, and no fused one does that in 32
    // bits: all weights are there.
    const TensorId out = masks_window_ ? attend_fused(query, keys, values, elements)
                                       : attend_eagerly(query, keys, values, elements);
    tape.drop(keys);
    tape.drop(values);
    return out;
  }
  return attend_fused(query, key, value, elements);
}

TensorId TransformerModel::attend_fused(TensorId query,
                                        TensorId key,
                                        TensorId value,
                                        std::int64_t elements) {
  Tape& tape = *tape_;
  const unsigned bytes = tape.bytes(query);
  const std::int64_t rows = times(tokens(), shape_.heads);
  const TensorId out = tape.tensor(elements, bytes);
  const TensorId log_sum = tape.tensor(rows, 4);
  // Flash attention sums its query gradient in 32 bits.
  const NodeTraits traits{.workspace = (bytes == 2 ? times(elements, 4) : 0) + times(rows, 4)};
  const std::array saved = {query, key, value, out, log_sum};
  if (key == kNoTensor) {
    tape.node(out, {query}, saved, {}, traits);
  } else {
    tape.node(out, {query, key, value}, saved, {}, traits);
  }
  tape.drop(log_sum);
  return out;
}

TensorId TransformerModel::attend_eagerly(TensorId query,
                                          TensorId key,
                                          TensorId value,
                                          std::int64_t elements) {
  Tape& tape = *tape_;
  const unsigned bytes = tape.bytes(query);
  const std::int64_t count = times(times(tokens(), shape_.heads), sequence_);
  const TensorId scores = tape.tensor(count, bytes);
  if (key == kNoTensor) {
    tape.node(scores, {query}, std::array{query}, {}, {.matmul = true});
  } else {
    tape.node(scores, {query, key}, std::array{query, key}, {}, {.matmul = true});
  }
  TensorId scaled = then(scores, unary(scores, Keeps::Nothing));
  if (sizes_.autocast && bytes == 2) {  // the mask has 32 bits
    const TensorId masked = tape.tensor(count, 4);
    tape.node(masked, {scaled}, {}, {}, {});
    scaled = then(scaled, masked);
  }
  if (widens_scores_) {
    const TensorId wide = tape.tensor(count, 4);
    tape.node(wide, {scaled}, {}, {}, {});
    scaled = then(scaled, wide);
  }
  TensorId weights = tape.tensor(count, sizes_.autocast || llama_ ? 4 : bytes);
  tape.node(weights, {scaled}, std::array{weights}, {}, {});
  tape.drop(scaled);
  if (tape.bytes(weights) != bytes) {
    const TensorId cast = tape.tensor(count, 2);
    tape.node(cast, {weights}, {}, {}, {});
    weights = then(weights, cast);
  }
  if (!llama_) {
    weights = then(weights, dropout(weights));
  }
  const TensorId out = tape.tensor(elements, bytes);
  if (value == kNoTensor) {
    tape.node(out, {weights}, std::array{weights}, {}, {.matmul = true});
  } else {
    tape.node(out, {weights, value}, std::array{weights, value}, {}, {.matmul = true});
  }
  tape.drop(weights);
  return out;
}

// x·cos + rotate_half(x)·sin; takes x over.
TensorId TransformerModel::rotate(TensorId x) {
  const TensorId cosine = unary(x, Keeps::Nothing);
  const TensorId half = unary(x, Keeps::Nothing);
  const TensorId sine = then(half, unary(half, Keeps::Nothing));
  const TensorId out = add(cosine, sine);
  tape_->drop(cosine);
  tape_->drop(sine);
  return then(x, out);
}

// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), operation by operation; takes x over.
// Autocast takes the power, and what follows from it, in 32 bits.
TensorId TransformerModel::python_gelu(TensorId x) {
  TensorId base = x;
  if (sizes_.autocast && tape_->bytes(x) == 2) {
    base = tape_->tensor(tape_->elements(x), 4, tape_->needs_gradient(x));
    tape_->node(base, {x}, {}, {}, {});
  } else {
    tape_->hold(base);
  }
  TensorId inner = then(base, unary(base, Keeps::Input));
  inner = then(inner, unary(inner, Keeps::Nothing));
  inner = then(inner, add(x, inner));
  inner = then(inner, unary(inner, Keeps::Nothing));
  inner = then(inner, unary(inner, Keeps::Output));
  inner = then(inner, unary(inner, Keeps::Nothing));
  const TensorId half = then(x, unary(x, Keeps::Nothing));
  const TensorId out = multiply(half, inner);
  tape_->drop(half);
  return then(inner, out);
}

}  // namespace carpool::estimate
