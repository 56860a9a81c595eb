#!/usr/bin/env python3
"""Turns the tables of this folder into rows that `carpool estimate --evaluate` reads.

usage: data/gpumemnet/convert.py --output DIR

Writes mlp_step1.jsonl, mlp_step2.jsonl, cnn_early.jsonl, real_models.jsonl and carma_tasks.jsonl, in
the order of the tables: the published split goes by it. What a table does not say and the rows need is
stated below, beside the model that needs it.
"""
import argparse
import csv
import gzip
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
H200_ROWS = HERE.parent / "memory-h200" / "rows.jsonl.gz"
SETUP = {"mode": "train", "prec": "fp32", "accum": 1}

CNN_TYPES = {"C": "Conv2d", "B": "BatchNorm2d", "D": "dropout", "P": "AdaptiveAvgPool2d", "L": "Linear", "S": "Softmax"}
CNN_ACTIVATIONS = {"relu": "relu", "leaky_relu": "LeakyReLU", "elu": "ELU", "selu": "SELU", "gelu": "GELU",
                   "tanh": "Tanh", "swish": "SiLU", "mish": "Mish", "softplus": "Softplus", "prelu": "PReLU"}

# Lines of the summaries that repeat what their own parts say.
COMPOSITES = {
    "BatchNormAct2d", "SqueezeExcite", "DepthwiseSeparableConv", "InvertedResidual", "SqueezeExcitation", "Sequential",
    "Bottleneck", "BasicBlock", "Conv2dNormActivation", "MBConv", "StochasticDepth", "BasicConv2d", "InceptionAux",
    "Inception3", "SeparableConv2d", "Block", "ConvBNReLU", "ResNet", "VGG", "MobileNetV2", "EfficientNet", "Xception",
    "ModuleList", "EmbeddingBag"}

BERT_BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
             "vocab_size": 28996, "max_position_embeddings": 512}
BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
              "vocab_size": 28996, "max_position_embeddings": 512}
GPT2_LARGE = {"n_embd": 1280, "n_layer": 36, "n_head": 20, "vocab_size": 50257, "n_positions": 1024}
GPT2_XL = {"n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257, "n_positions": 1024}
# XLNet is taken for a BERT with eager attention that keeps six more hidden states a block. The batch of gpt2_large is
# spread over its two GPUs, that of XLNet is a GPU's own: both assumed because the measured values fit.
TRANSFORMERS = {
    "bert_base": {"type": "bert", "conf": BERT_BASE, "task": "mlm"},
    "bert_large": {"type": "bert", "conf": BERT_LARGE, "task": "mlm"},
    "gpt2_large": {"type": "gpt2", "conf": GPT2_LARGE, "task": "clm", "gpus": 2, "share_batch": True},
    "gpt2_xl": {"type": "gpt2", "conf": GPT2_XL, "task": "clm"},
    "xlnet_base": {"type": "bert", "conf": dict(BERT_BASE, vocab_size=32000), "task": "seq", "attn": "eager",
                   "extra_saved_hidden": 6, "gpus": 2},
    "xlnet_large": {"type": "bert", "conf": dict(BERT_LARGE, vocab_size=32000), "task": "seq", "attn": "eager",
                    "extra_saved_hidden": 6, "gpus": 2},
}


def table(name):
    path = HERE / name
    with (gzip.open(path, "rt") if name.endswith(".gz") else open(path)) as lines:
        return list(csv.DictReader(lines))


def number(text):
    return float(text) if text else None


def mlp_row(row):
    """The loop of these measurements: 4096 samples, Adam, a summary pass, a softmax before the loss."""
    widths = [int(width) for width in row["widths"].split()]
    last = row["last"] if row["last"] not in ("none", "Identity") else ""
    cfg = {"fam": "mlp", "inp": int(row["input"]), "widths": widths[:-1], "classes": widths[-1], "act": row["act"],
           "bn": int(row["batchnorm"]), "drop": int(row["dropout"]), "last": last, "batch": int(row["batch"]),
           "opt": "adam", "samples": 4096, "summary_pass": 1, "fresh_inputs": 1, "keeps_output": 1, **SETUP}
    return {"machine": "a100", "cfg": cfg, "peak": {"total": float(row["max_mem_mib"])}, "ok": 1}


def cnn_row(row):
    batch = int(row["batch"])
    layers = []
    for line in row["layers"].split(";"):
        kind, outputs, parameters = line.split(",")
        name = CNN_ACTIVATIONS[row["act"]] if kind == "A" else CNN_TYPES[kind]
        layers.append([name, [batch, int(outputs)], "float32", int(parameters)])
    channels = sum(layer[3] for layer in layers if layer[0] == "BatchNorm2d") // 2
    cfg = {"fam": "cnn", "ch": int(row["channels"]), "res": int(row["input_size"]), "batch": batch, "opt": "adam",
           "tf32": 1, "cl": 0, "bench": 0, "ckpt": 0, "fresh_inputs": 1, **SETUP}
    return {"machine": "a100", "cfg": cfg, "layers": layers,
            "static": {"params": sum(layer[3] for layer in layers), "buffers": 8 * channels},
            "peak": {"total": float(row["max_mem_mib"])}, "ok": int(row["status"] == "SUCCESSFUL")}


def layer_row(name, lines, batch, optimizer, side, hidden_norms=False, channels=3):
    layers = []
    for line in lines:
        if line["type"] in COMPOSITES or not line["out"] or ">" in line["out"]:
            continue
        shape = [int(extent) for extent in line["out"].split("x")]
        layers.append([line["type"], [batch, *shape], "float32", int(line["params"] or 0)])
    cfg = {"fam": "layers", "name": name, "ch": channels, "res": side, "batch": batch, "opt": optimizer, "tf32": 1,
           "cl": 0, "bench": 0, "ckpt": 0, "hidden_norms": int(hidden_norms), **SETUP}
    return {"cfg": cfg, "layers": layers,
            "static": {"params": sum(layer[3] for layer in layers), "buffers": 1000}}


def unet_lines():
    """UNet on a ResNet-34 encoder; its summary lists blocks, these are their layers."""
    lines = []

    def add(kind, channels, side, parameters=0):
        lines.append({"type": kind, "out": f"{channels}x{side}x{side}", "params": parameters})

    def block(into, out, side):
        add("Conv2d", out, side, into * out * 9)
        add("BatchNorm2d", out, side, 2 * out)
        add("ReLU", out, side)

    add("Conv2d", 64, 256, 9408)
    add("BatchNorm2d", 64, 256, 128)
    add("ReLU", 64, 256)
    add("MaxPool2d", 64, 128)
    into = 64
    for out, side, count in ((64, 128, 3), (128, 64, 4), (256, 32, 6), (512, 16, 3)):
        for _ in range(count):
            block(into, out, side)
            block(out, out, side)
            into = out
    for into, skipped, out, side in ((512, 256, 256, 32), (256, 128, 128, 64), (128, 64, 64, 128), (64, 64, 32, 256),
                                     (32, 0, 16, 512)):
        add("Upsample", into, side)
        add("Cat", into + skipped, side)
        block(into + skipped, out, side)
        block(out, out, side)
    add("Conv2d", 21, 512, 16 * 21 * 9)
    return lines


def mobilenet_lines():
    """mobilenet_v3_small at 32 x 32: the list of the H200 set at 224 x 224 with sides divided by 7."""
    for line in gzip.open(H200_ROWS, "rt"):
        row = json.loads(line)
        if row["cfg"].get("name") == "mobilenet_v3_small" and row["cfg"]["res"] == 224 and row.get("layers"):
            break
    lines = []
    for kind, shape, _, parameters in row["layers"]:
        shape = shape[1:]
        if len(shape) == 3 and shape[1] > 1:
            shape = [shape[0], max(1, shape[1] // 7), max(1, shape[2] // 7)]
        lines.append({"type": kind, "out": "x".join(map(str, shape)), "params": parameters})
    return lines


def summaries():
    lists = {}
    for line in table("real_model_layers.csv.gz"):
        lists.setdefault((line["model"], int(line["batch"])), []).append(line)
    return lists


def job_row(model, batch, dataset, lists):
    """The configuration of one real job, or None where nothing is known of the model."""
    if dataset == "cifar100":
        lines = mobilenet_lines() if model == "mobilenet_v3_small" else lists[(model + "_cifar100", 0)]
        return layer_row(model + "_cifar", lines, batch, "adamw", 32, hidden_norms=model == "efficientnet_b0")
    if model in TRANSFORMERS:
        cfg = dict(TRANSFORMERS[model])
        if cfg.pop("share_batch", False):
            batch //= cfg["gpus"]
        return {"cfg": {"fam": "hf", "name": model, "seq": 512, "batch": batch, "opt": "adamw", **cfg, **SETUP}}
    if model == "maskrcnn_resnet50_fpn":  # images of all sizes: only the totals of its summary mean something
        return {"cfg": {"fam": "totals", "name": model, "params": 44454513, "activation_bytes": int(38090.84e6 / 2),
                        "batch": batch, "opt": "sgd", **SETUP}}
    if model == "unet_resnet34":
        return layer_row(model, unet_lines(), batch, "adamw", 512)
    if model == "dlrm":  # the tables of its embeddings lie in host memory
        lines = [line for line in lists[(model, batch)] if line["type"] in ("Linear", "ReLU")]
        return layer_row(model, lines, batch, "sgd", 4)
    if (model, batch) in lists:
        side, channels = {"mnist_cnn": (28, 1), "inception_v3": (299, 3)}.get(model, (224, 3))
        return layer_row(model, lists[(model, batch)], batch, "adam", side, channels=channels)
    return None


def real_rows():
    lists = summaries()
    for row in table("real_models.csv"):
        truth, later = number(row["actual_2025_mib"]), number(row["actual_2026_mib"])
        out = truth and job_row(row["model"], int(row["batch"]), row["dataset"], lists)
        if out:
            others = {name: number(row[name + "_mib"]) for name in ("gpumemnet", "faketensor", "horus")}
            yield {"machine": "a100", **out, "peak": {"total": truth}, "ok": 1,
                   "contested": bool(later and abs(later - truth) > 0.1 * truth),
                   "others": {name: value for name, value in others.items() if value}}


def carma_rows():
    lists = summaries()
    contested = {row["cfg"]["name"] for row in real_rows() if row["contested"]}
    for row in table("carma_tasks.csv"):
        truth = number(row["gpu_mem_mib"])
        out = truth and job_row(row["model"], int(row["batch_size"]), row["dataset"], lists)
        if out:
            others = {name: number(row[f"est_{name}_mib"]) for name in ("gpumemnet", "faketensor", "horus")}
            yield {"machine": "a100", **out, "peak": {"total": truth}, "ok": 1, "contested": row["model"] in contested,
                   "task": row["task"], "others": {name: value for name, value in others.items() if value}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    # GPUMemNet leaves out residual and dense shapes, and runs that never reached the GPU.
    plain = [row for row in table("cnn_early.csv.gz")
             if row["arch"] not in ("residual", "dense") and float(row["max_mem_mib"]) > 0]
    for name, rows in {"mlp_step1": map(mlp_row, table("mlp_step1.csv.gz")),
                       "mlp_step2": map(mlp_row, table("mlp_step2.csv.gz")), "cnn_early": map(cnn_row, plain),
                       "real_models": real_rows(), "carma_tasks": carma_rows()}.items():
        with open(folder / f"{name}.jsonl", "w") as out:
            for row in rows:
                out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
