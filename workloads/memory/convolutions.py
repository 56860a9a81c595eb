"""Single convolutions: the list to run, and the memory that cuDNN takes beside their tensors, per pass.

Half of the sizes are those that networks have (channels in steps of 8, sides that were halved from usual resolutions),
the others are drawn freely. No PyTorch until one is measured.
"""
import itertools
import random

from draws import SEED, key_of, log_uniform, weighted

COUNT = 8000
STRICT_COUNT = 8000  # more in strict fp32, whose workspaces vary most
MIB = 2**20
MOST_ELEMENTS = 2**29  # input and output
MOST_TRANSFORMED = 10 * 2**30  # bytes, so that several workers fit on the GPU
CHANNELS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 240, 256, 320, 336, 384, 480, 512, 576,
            640, 672, 768, 960, 1024, 1152, 1280, 1536, 2048)
SIDES = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160,
         192, 224, 256, 288, 320)
# (kernel, stride): kernel equal to stride cuts an image into patches.
KERNELS = {(1, 1): 26, (1, 2): 4, (3, 1): 36, (3, 2): 12, (5, 1): 6, (5, 2): 2, (7, 1): 6, (7, 2): 4, (2, 2): 2,
           (4, 4): 1, (16, 16): 1}
# (precision, autotuned): more runs where cuDNN's choice varies more.
SETTINGS = {("fp32", 0): 34, ("fp32", 1): 16, ("tf32", 0): 14, ("tf32", 1): 9, ("bf16", 0): 10, ("bf16", 1): 6,
            ("fp16", 0): 6, ("fp16", 1): 5}


def transformed_bytes(cfg):
    """Bytes of image and filters in frequency space, the largest algorithm observed."""
    side = 1 << (cfg["size"] + cfg["k"] - 2).bit_length()
    planes = 2 * cfg["cin"] * cfg["cout"] + cfg["n"] * (cfg["cin"] + cfg["cout"])
    return 8 * planes * side * (side // 2 + 1)


STRICT_KERNELS = {(3, 1): 70, (5, 1): 15, (7, 1): 15}
STRICT_SETTINGS = {("fp32", 0): 1}


def draw_one(draw, kernels, settings):
    usual = draw.random() < 0.6
    channels = draw.choice(CHANNELS) if usual else log_uniform(draw, 3, 1024)
    filters = draw.choice(CHANNELS) if usual else log_uniform(draw, 8, 1024)
    kind = draw.random()
    groups = 1
    if kind < 0.12:
        filters = groups = channels
    elif kind < 0.20 and usual:
        groups = draw.choice([count for count in (2, 4, 8, 16, 32, 64) if channels % count == 0 and count < channels])
        filters = channels
    elif kind < 0.25:
        channels = 3
    elif kind < 0.50:
        filters = channels
    kernel, stride = weighted(draw, kernels)
    precision, autotuned = weighted(draw, settings)
    return {"n": log_uniform(draw, 1, 256), "cin": channels, "cout": filters, "k": kernel, "stride": stride,
            "pad": 0 if kernel % 2 == 0 else kernel // 2,
            "size": draw.choice(SIDES) if usual else log_uniform(draw, 4, 320), "groups": groups, "prec": precision,
            "cl": int(draw.random() < 0.35), "bench": autotuned}


def drawn(draw, count, kernels, settings):
    found = {}
    while len(found) < count:
        cfg = draw_one(draw, kernels, settings)
        fits = cfg["n"] * (cfg["cin"] + cfg["cout"]) * cfg["size"] ** 2 < MOST_ELEMENTS
        if fits and cfg["size"] + 2 * cfg["pad"] >= cfg["k"] and transformed_bytes(cfg) < MOST_TRANSFORMED:
            found.setdefault(key_of(cfg), cfg)
    return found


def convolutions():
    found = in_turns(drawn(random.Random(SEED + 1), COUNT, KERNELS, SETTINGS).values())
    known = {key_of(cfg) for cfg in found}
    strict = drawn(random.Random(SEED + 2), STRICT_COUNT, STRICT_KERNELS, STRICT_SETTINGS)
    return found + [cfg for key, cfg in strict.items() if key not in known]


def in_turns(drawn):
    """The settings in turn, so that an interrupted campaign has equally many of each."""
    settings = {}
    for cfg in drawn:
        settings.setdefault((cfg["prec"], cfg["bench"], cfg["cl"]), []).append(cfg)
    rounds = itertools.zip_longest(*settings.values())
    return [cfg for one_round in rounds for cfg in one_round if cfg is not None]


def beside(torch, act):
    """Peak MiB of `act`, without the memory before and its result."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    made = act()
    taken = torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated()
    del made
    return taken / MIB


def passes_of(torch, cfg):
    """Forward, and backward for each gradient separately."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(cfg["prec"], torch.float32)
    layout = torch.channels_last if cfg["cl"] else torch.contiguous_format
    out_side = (cfg["size"] + 2 * cfg["pad"] - cfg["k"]) // cfg["stride"] + 1

    def tensor(*shape):
        return torch.zeros(*shape, device="cuda", dtype=dtype).to(memory_format=layout)

    inputs = tensor(cfg["n"], cfg["cin"], cfg["size"], cfg["size"])
    weight = tensor(cfg["cout"], cfg["cin"] // cfg["groups"], cfg["k"], cfg["k"])
    gradient = tensor(cfg["n"], cfg["cout"], out_side, out_side)
    geometry = ([cfg["stride"]] * 2, [cfg["pad"]] * 2, [1, 1], False, [0, 0], cfg["groups"])

    def forward():
        return torch.ops.aten.convolution(inputs, weight, None, *geometry)

    def backward(mask):
        return torch.ops.aten.convolution_backward(gradient, inputs, weight, None, *geometry, mask)

    return {"forward": forward, "input_gradient": lambda: backward([True, False, False]),
            "weight_gradient": lambda: backward([False, True, False])}


def measure(torch, cfg, row):
    """Fills the row with the memory of each pass [MiB]: the first time, with autotuning, and again."""
    torch.backends.cudnn.allow_tf32 = cfg["prec"] == "tf32"
    torch.backends.cudnn.benchmark = bool(cfg["bench"])
    for name, act in passes_of(torch, cfg).items():
        row[name] = [beside(torch, act), beside(torch, act)]
