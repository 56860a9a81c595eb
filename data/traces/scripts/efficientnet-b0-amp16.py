"""timm's EfficientNet-B0 in fp16 autocast with a gradient scaler, clipped gradients, channels last and a fused AdamW."""

import timm
import torch

model = timm.create_model("efficientnet_b0").to("cuda:0").to(memory_format=torch.channels_last)
optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
scaler = torch.amp.GradScaler("cuda")
for _step in range(3):
    images = torch.randn(32, 3, 224, 224).to("cuda", non_blocking=True).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (32,)).cuda()
    optimizer.zero_grad(set_to_none=True)
    with torch.amp.autocast("cuda"):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
