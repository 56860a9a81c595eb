"""One forward pass of a Llama of 4 layers in bf16."""

import torch
import transformers

config = transformers.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=4,
                                  num_attention_heads=16, vocab_size=32000)
model = transformers.LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()
with torch.no_grad():
    print(model(torch.randint(0, 32000, (4, 512)).cuda()).logits.shape)
