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

// out + scale * B(A(x)); releases `out`.
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

// x / sqrt(mean(x²)) in 32 bits, cast to the type of x, times the weight.
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

// 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), operation by operation; releases x.
// Autocast computes the power and its results in 32 bits.
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
