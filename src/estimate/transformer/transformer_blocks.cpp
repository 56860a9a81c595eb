#include <array>
#include <utility>

#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {

LossTraits TransformerModel::loss() const {
  const bool causal = shape_.task == TransformerTask::CausalLm;
  const bool masked = shape_.task == TransformerTask::MaskedLm;
  return {.copies_to_fp32 = causal || (sizes_.autocast && !masked),
          .log_softmax_fp32 = causal || sizes_.autocast};
}

TensorId TransformerModel::forward(Tape& tape, TensorId /*input*/, std::int64_t batch) {
  tape_ = &tape;
  batch_ = batch;
  cached_.clear();
  TensorId x = embed();
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    if (checkpointing_ && training_) {
      tape.set_recording(false);
      const TensorId out = block(index, x);
      tape.set_recording(true);
      tape.checkpoint(out, x, index);
      x = then(x, out);
    } else {
      x = then(x, block(index, x));
    }
    if (shape_.extra_saved_hidden > 0 && tape.recording()) {
      tape.keep(x, times(times(tokens(), shape_.hidden), times(shape_.extra_saved_hidden, 4)));
    }
  }
  return head(x);
}

TensorId TransformerModel::forward_segment(Tape& tape, std::size_t segment, TensorId input) {
  tape_ = &tape;
  return block(segment, input);
}

void TransformerModel::end_inference(Tape& tape) {
  // Each decoded token is appended to the cache of one layer after the other, each time by a copy;
  // in the end the cache is longer by all decoded tokens.
  const std::int64_t length = plus(sequence_, decode_tokens_);
  for (auto& layer : cached_) {
    for (TensorId& part : layer) {
      const TensorId grown =
          tape.tensor(times(tape.elements(part) / sequence_, length), tape.bytes(part), false);
      tape.drop(std::exchange(part, grown));
    }
  }
  for (const auto& [key, value] : cached_) {
    tape.drop(key);
    tape.drop(value);
  }
  cached_.clear();
  if (last_hidden_ != kNoTensor) {
    tape.drop(std::exchange(last_hidden_, kNoTensor));
  }
}

TensorId TransformerModel::embed() {
  Tape& tape = *tape_;
  const unsigned bytes = sizes_.parameter;
  const NodeTraits traits{.gradient_bytes = bytes};
  TensorId x = tape.tensor(times(tokens(), embedding_size_), bytes);
  std::vector<ParameterId> own = {token_embedding_};
  if (unlisted_) {
    own.push_back(*unlisted_);  // their users are unknown, but their gradients exist in the end
  }
  tape.node(x, {}, {}, own, traits);
  if (llama_) {
    return x;
  }
  const TensorId positions = tape.tensor(times(sequence_, embedding_size_), bytes, false);
  const TensorId sum = tape.tensor(tape.elements(x), bytes);
  tape.node(sum,
            {x},
            {},
            std::array{*position_embedding_},
            {.passes_gradient = true, .gradient_bytes = bytes});
  tape.drop(positions);
  x = then(x, sum);
  if (embedding_norm_) {
    x = then(x, layer_norm(*embedding_norm_, x));
  }
  if (type_.style != BlockStyle::PreNorm) {
    x = then(x, dropout(x));
  }
  if (embedding_projection_) {
    x = then(x, linear(*embedding_projection_, x));
  }
  return x;
}

TensorId TransformerModel::block(std::size_t index, TensorId x) {
  return llama_ ? llama_block(blocks_[index], x) : classic_block(blocks_[index], x);
}

TensorId TransformerModel::llama_block(const BlockParameters& own, TensorId x) {
  Tape& tape = *tape_;
  TensorId normal = rms_norm(own.first, x);
  TensorId query = linear(own.query, normal);
  TensorId key = linear(own.key, normal);
  TensorId value = linear(own.value, normal);
  tape.drop(normal);
  query = rotate(query);
  key = rotate(key);
  if (caching()) {
    cache(key, value);
  }
  const TensorId attended = attend(query, key, value, tape.elements(query));
  tape.drop(query);
  tape.drop(key);
  tape.drop(value);
  const TensorId projected = then(attended, linear(own.out, attended));
  const TensorId middle = add(x, projected);
  tape.drop(projected);
  normal = rms_norm(own.second, middle);
  const TensorId gate = linear(own.gate, normal);
  const TensorId open = then(gate, unary(gate, Keeps::Input));
  const TensorId up = linear(own.up, normal);
  tape.drop(normal);
  const TensorId gated = multiply(open, up);
  tape.drop(open);
  tape.drop(up);
  const TensorId down = then(gated, linear(own.down, gated));
  const TensorId out = add(middle, down);
  tape.drop(middle);
  tape.drop(down);
  return out;
}

TensorId TransformerModel::classic_attention(const BlockParameters& own, TensorId x) {
  Tape& tape = *tape_;
  const std::int64_t elements = times(tokens(), shape_.hidden);
  if (type_.style == BlockStyle::Gpt2) {
    const TensorId all = linear(own.query, x);
    tape.drop(x);
    if (caching()) {
      cached_.push_back({tape.tensor(elements, tape.bytes(all), false),
                         tape.tensor(elements, tape.bytes(all), false)});
    }
    TensorId out = kNoTensor;
    if (training_ && !eager_ && tape.bytes(all) == 4) {
      const TensorId copies = sized_copy(all, 2 * elements);  // key and value made contiguous
      out = attend(all, copies, all, elements);
      tape.drop(copies);
    } else {
      out = attend(all, kNoTensor, kNoTensor, elements);
    }
    return then(all, out);
  }
  TensorId query = linear(own.query, x);
  TensorId key = linear(own.key, x);
  TensorId value = linear(own.value, x);
  tape.drop(x);
  if (type_.style == BlockStyle::PreNorm) {
    query = then(query, unary(query, Keeps::Nothing));  // scaled
  }
  if (caching()) {
    cache(key, value);
  }
  const TensorId out = attend(query, key, value, elements);
  tape.drop(query);
  tape.drop(key);
  tape.drop(value);
  return out;
}

TensorId TransformerModel::classic_block(const BlockParameters& own, TensorId x) {
  Tape& tape = *tape_;
  const bool norm_first = type_.style != BlockStyle::PostNorm;
  // The input of a part: the norm of `hidden`, or `hidden` itself held once more.
  const auto input_of = [&](const Norm& norm, TensorId hidden) {
    if (norm_first) {
      return layer_norm(norm, hidden);
    }
    tape.hold(hidden);
    return hidden;
  };
  // hidden + dropout(part), followed by the norm in post-norm blocks; releases `part`.
  const auto join = [&](const Norm& norm, TensorId hidden, TensorId part) {
    part = then(part, dropout(part));
    TensorId sum = add(hidden, part);
    tape.drop(part);
    return norm_first ? sum : then(sum, layer_norm(norm, sum));
  };
  const TensorId attended = classic_attention(own, input_of(own.first, x));
  const TensorId middle = join(own.first, x, then(attended, linear(own.out, attended)));
  const TensorId input = input_of(own.second, middle);
  TensorId inner = then(input, linear(own.up, input));
  switch (type_.style) {
    case BlockStyle::Gpt2:
      inner = python_gelu(inner);
      break;
    case BlockStyle::PreNorm:
      inner = then(inner, unary(inner, Keeps::Output));  // ReLU
      break;
    default:
      inner = then(inner, unary(inner, Keeps::Input));  // GELU
  }
  const TensorId out = join(own.second, middle, then(inner, linear(own.down, inner)));
  tape.drop(middle);
  return out;
}

// The cache starts empty: keys and values are copied into it, under autocast in the 32 bits that
// rotary positions produce.
void TransformerModel::cache(TensorId& key, TensorId& value) {
  Tape& tape = *tape_;
  const unsigned bytes = sizes_.autocast && llama_ ? 4 : tape.bytes(key);
  const TensorId keys = tape.tensor(tape.elements(key), bytes, false);
  const TensorId values = tape.tensor(tape.elements(value), bytes, false);
  tape.drop(std::exchange(key, keys));
  tape.drop(std::exchange(value, values));
  tape.hold(keys);
  tape.hold(values);
  cached_.push_back({keys, values});
}

TensorId TransformerModel::head(TensorId x) {
  Tape& tape = *tape_;
  if (final_norm_) {
    x = then(x, norm(*final_norm_, x));
  }
  if (classifier_) {
    const TensorId first_token = tape.tensor(times(batch_, shape_.hidden), sizes_.compute);
    tape.node(first_token, {x}, {}, {}, {});
    x = then(x, first_token);
    return then(x, linear(*classifier_, x));
  }
  if (masked_transform_) {
    x = then(x, linear(*masked_transform_, x));
    x = then(x, unary(x, Keeps::Input));
    x = then(x, layer_norm(*masked_norm_, x));
  }
  const TensorId logits = linear(vocabulary_head_, x);
  if (caching()) {
    last_hidden_ = x;
  } else {
    tape.drop(x);
  }
  return logits;
}

}  // namespace carpool::estimate
