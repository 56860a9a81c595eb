#include <array>

#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {

// `key` and `value` are kNoTensor where `query` contains all three.
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
    // Without a mask the kernel shares the heads itself, and no fused kernel does that in 32 bits:
    // all attention weights are materialised.
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
  // Flash attention accumulates the gradient of the query in 32 bits.
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

// x·cos + rotate_half(x)·sin; releases x.
TensorId TransformerModel::rotate(TensorId x) {
  const TensorId cosine = unary(x, Keeps::Nothing);
  const TensorId half = unary(x, Keeps::Nothing);
  const TensorId sine = then(half, unary(half, Keeps::Nothing));
  const TensorId out = add(cosine, sine);
  tape_->drop(cosine);
  tape_->drop(sine);
  return then(x, out);
}

}  // namespace carpool::estimate
