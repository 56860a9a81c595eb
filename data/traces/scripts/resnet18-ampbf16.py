"""torchvision's ResNet-18 in bf16 autocast, trained with SGD."""

import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=16)
options = parser.parse_args()

assert torch.cuda.is_available()
model = torchvision.models.resnet18().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
criterion = torch.nn.CrossEntropyLoss()
for step in range(10):
    images = torch.randn(options.batch, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (options.batch,), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step)
