"""Programs of PyTorch as its users write them: torch_programs.py NAME FOLDER."""

import os

import torch
from common import main, need, ok
from torch import nn


def net(width=256):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)).cuda()


def train(model, steps=20, width=256):
    """The first and the last loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, goals = torch.randn(64, width, device="cuda"), torch.randint(10, (64,), device="cuda")
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), goals)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    need(losses[-1] < losses[0], f"the loss did not fall: {losses[0]} to {losses[-1]}")


def eager(_):
    train(net())
    convolution = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                nn.Linear(32, 10)).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = convolution(torch.randn(8, 3, 64, 64, device="cuda"))
    need(bool(torch.isfinite(out).all()), "the output is not finite")
    pinned = torch.randn(1 << 20).pin_memory().to("cuda", non_blocking=True)
    need(pinned.sum().isfinite().item(), "the copy is not finite")
    ok("eager")


def compiled(_):
    train(torch.compile(net()))
    ok("compiled")


def graph(_):
    model = net()
    inputs = torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(3):
            model(inputs)
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(recorded):
        out = model(inputs)
    for _ in range(10):
        inputs.copy_(torch.randn_like(inputs))
        recorded.replay()
        with torch.no_grad():
            need(torch.allclose(out, model(inputs), atol=1e-4), "a replay computes another output")
    ok("graph")


def graphed_callables(_):
    train(torch.cuda.make_graphed_callables(net(), (torch.randn(64, 256, device="cuda"),)))
    ok("graphed callables")


def profiler(_):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        train(net())
        torch.cuda.synchronize()
    times = [getattr(event, "device_time_total", getattr(event, "cuda_time_total", 0)) for event in profile.key_averages()]
    need(sum(times) > 0, "torch.profiler saw no time on the GPU")
    ok("profiler")


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.full((256,), float(index % 7)), index % 10


def data_loader(_):
    model = net()  # CUDA is in use before the workers are forked
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=64, num_workers=2, pin_memory=True, multiprocessing_context="fork")
    for inputs, goals in loader:
        nn.functional.cross_entropy(model(inputs.cuda(non_blocking=True)), goals.cuda()).backward()
    torch.cuda.synchronize()
    ok("data loader")


def distributed(rank, world, backend, folder, name):
    torch.distributed.init_process_group(backend, init_method=f"file://{folder}/{name}-rendezvous", rank=rank, world_size=world)
    torch.cuda.set_device(0)
    model = nn.parallel.DistributedDataParallel(net(), device_ids=[0])
    train(model)
    total = torch.ones(1, device="cuda")
    torch.distributed.all_reduce(total)
    need(total.item() == world, f"the sum over the ranks is {total.item()}")
    torch.distributed.destroy_process_group()


def ddp_nccl(folder):
    distributed(0, 1, "nccl", folder, f"nccl-{os.getpid()}")
    ok("ddp nccl")


def ddp_gloo(folder):
    torch.multiprocessing.spawn(distributed, (2, "gloo", folder, f"gloo-{os.getpid()}"), nprocs=2)
    ok("ddp gloo")


def spawned(index):
    train(net())
    need(torch.cuda.memory_allocated() > 0, f"process {index} has no memory")


def spawn(_):
    train(net())
    torch.multiprocessing.spawn(spawned, nprocs=2)
    ok("spawn")


if __name__ == "__main__":
    main({"eager": eager, "compiled": compiled, "graph": graph, "graphed-callables": graphed_callables, "profiler": profiler,
          "data-loader": data_loader, "ddp-nccl": ddp_nccl, "ddp-gloo": ddp_gloo, "spawn": spawn})
