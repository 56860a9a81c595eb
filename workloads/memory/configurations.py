"""The configurations of the memory collector: a fixed list, drawn from a seed. Does not import PyTorch."""
import random

from draws import SEED, key_of, log_uniform, weighted

COUNTS = {"mlp": 130, "cnn": 190, "tv": 230, "timm": 270, "hf": 250, "llm": 190}
LATER_COUNTS = {"mlp": 30, "cnn": 120, "tv": 130, "timm": 140, "hf": 60, "llm": 60}  # to test finished rules
FRESH = 60
DECODED = 8  # most tokens that a decoder generates

TORCHVISION = """alexnet vgg11 vgg16 vgg19_bn resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d
wide_resnet50_2 densenet121 densenet169 densenet201 squeezenet1_0 squeezenet1_1 mobilenet_v2 mobilenet_v3_small
mobilenet_v3_large efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_v2_s
efficientnet_v2_m regnet_y_400mf regnet_y_8gf regnet_x_8gf shufflenet_v2_x1_0 mnasnet1_0 convnext_tiny convnext_base
swin_t swin_b swin_v2_t vit_b_16 vit_l_16 maxvit_t""".split()
TIMM = """resnet26d resnet50d resnetv2_50 gernet_m regnety_016 regnety_032 efficientnet_b1 efficientnet_b3
tf_efficientnetv2_s mobilenetv3_large_100 mnasnet_100 rexnet_100 hrnet_w18 dla60 densenet161 vit_tiny_patch16_224
vit_small_patch16_224 vit_base_patch16_224 deit_small_patch16_224 swin_tiny_patch4_window7_224 convnext_tiny
convnextv2_tiny convnext_base nfnet_f0 eca_nfnet_l0 mixer_b16_224 resmlp_24_224 gmlp_s16_224 poolformer_s24
edgenext_base coatnet_0_rw_224 maxvit_tiny_tf_224 pvt_v2_b1 xcit_small_12_p16_224 visformer_small tnt_s_patch16_224
beit_base_patch16_224 repvgg_b0 ghostnet_100 lcnet_100 tinynet_a hardcorenas_a mobileone_s1 resnest26d
res2net50_26w_4s skresnet34 ese_vovnet39b darknet53 cspresnet50 selecsls42b fbnetc_100 spnasnet_100 inception_v4
xception41""".split()
FIXED_SIDE = ("vit", "deit", "swin", "mixer", "resmlp", "gmlp", "coatnet", "maxvit", "xcit", "visformer", "tnt", "beit")
ENCODERS = ("bert", "roberta", "electra", "distilbert")
LLAMAS = ("llama", "mistral", "qwen2")

PRECISIONS = {"fp32": 45, "ampbf16": 25, "bf16": 20, "amp16": 10}
OPTIMIZERS = {"adamw": 35, "adam": 20, "sgdm": 15, "adamw_fused": 10, "sgd": 8, "adamw_single": 6, "rmsprop": 3,
              "adagrad": 3}


def common(draw, infers=0.2):
    return {"mode": "infer" if draw.random() < infers else "train", "prec": weighted(draw, PRECISIONS),
            "opt": weighted(draw, OPTIMIZERS), "tf32": int(draw.random() < 0.5),
            "accum": draw.choice((2, 4)) if draw.random() < 0.2 else 1}


def image_options(draw):
    return {"cl": int(draw.random() < 0.3), "bench": int(draw.random() < 0.2)}


def mlp(draw):
    return {"fam": "mlp", "inp": log_uniform(draw, 64, 8192),
            "widths": [log_uniform(draw, 32, 8192) for _ in range(draw.randint(1, 10))],
            "classes": draw.randint(2, 1000), "batch": log_uniform(draw, 1, 16384),
            "act": draw.choice(("ReLU", "GELU", "SiLU", "Tanh", "LeakyReLU", "ELU", "Mish")),
            "bn": int(draw.random() < 0.5), "drop": int(draw.random() < 0.5), **common(draw)}


def cnn(draw):
    filters, convolutions = log_uniform(draw, 16, 256), []
    side = log_uniform(draw, 32, 320)
    for _ in range(draw.randint(2, 28)):
        stride = 2 if side > 8 and draw.random() < 0.25 else 1
        side //= stride
        filters = min(2048, filters * (2 if draw.random() < 0.2 else 1))
        convolutions.append([filters, stride])
    return {"fam": "cnn", "ch": draw.choice((1, 3, 3, 3)), "convs": convolutions, "k": draw.choice((1, 3, 3, 3, 5, 7)),
            "res": log_uniform(draw, 32, 320), "batch": log_uniform(draw, 2, 128), "classes": draw.randint(2, 1000),
            "act": draw.choice(("ReLU", "GELU", "SiLU", "LeakyReLU")), "bn": int(draw.random() < 0.7),
            "inplace": int(draw.random() < 0.5), **common(draw), **image_options(draw)}


def named(draw, family, names, number):
    # Each name is about equally frequent, so that whole names can be held out.
    name = names[number % len(names)]
    side = 224 if name.startswith(FIXED_SIDE) else draw.choice((96, 128, 160, 192, 224, 224, 256, 288, 320))
    cfg = {"fam": family, "name": name, "res": side, "batch": log_uniform(draw, 1, 256),
           "classes": draw.choice((10, 100, 1000)), **common(draw), **image_options(draw)}
    if family == "timm":
        cfg["ckpt"] = int(draw.random() < 0.2)
    return cfg


def text_options(draw):
    return {"attn": "eager" if draw.random() < 0.2 else "sdpa", "ckpt": int(draw.random() < 0.35),
            "lora": draw.choice((8, 16, 64)) if draw.random() < 0.3 else 0}


def hugging_face(draw):
    kind = draw.choice((*ENCODERS, "gpt2", "opt"))
    heads = draw.choice((4, 8, 12, 16, 20))
    hidden, layers = heads * 64, draw.randint(2, 24)
    sequence = draw.choice((64, 128, 256, 512, 1024, 2048))
    vocabulary = draw.choice((8000, 30522, 32000, 50257))
    positions = sequence + 2
    if kind == "gpt2":
        conf = {"n_embd": hidden, "n_layer": layers, "n_head": heads, "vocab_size": vocabulary, "n_positions": positions}
    elif kind == "distilbert":
        conf = {"dim": hidden, "n_layers": layers, "n_heads": heads, "hidden_dim": 4 * hidden,
                "vocab_size": vocabulary, "max_position_embeddings": positions}
    else:
        inner = "ffn_dim" if kind == "opt" else "intermediate_size"
        conf = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, inner: 4 * hidden,
                "vocab_size": vocabulary, "max_position_embeddings": positions}
    task = draw.choice(("mlm", "seq")) if kind in ENCODERS else "clm"
    batch = log_uniform(draw, 1, max(2, 65536 // sequence))
    cfg = {"fam": "hf", "type": kind, "conf": conf, "task": task, "seq": sequence, "batch": batch,
           **text_options(draw), **common(draw)}
    if task == "clm" and cfg["mode"] == "infer":
        conf["n_positions" if kind == "gpt2" else "max_position_embeddings"] += DECODED  # room for the generated tokens
    return cfg


def llama(draw):
    heads = draw.choice((8, 12, 16, 20, 24, 32))
    hidden = heads * draw.choice((64, 128))
    conf = {"hidden_size": hidden, "intermediate_size": 64 * round(hidden * draw.choice((2.7, 3.5)) / 64),
            "num_hidden_layers": draw.randint(2, 32), "num_attention_heads": heads,
            "num_key_value_heads": draw.choice([count for count in (1, 2, 4, 8, heads) if heads % count == 0]),
            "vocab_size": draw.choice((32000, 128256, 151936)), "max_position_embeddings": 8192,
            "tie_word_embeddings": False}
    sequence = draw.choice((128, 256, 512, 1024, 2048, 4096))
    return {"fam": "llm", "type": draw.choice(LLAMAS), "conf": conf, "task": "clm", "seq": sequence,
            "batch": log_uniform(draw, 1, max(2, 16384 // sequence)), "decode": 4, **text_options(draw),
            **common(draw, infers=0.35)}


def configurations():
    return drawn(SEED, COUNTS)


def later_configurations():
    """More configurations, distinct from the first ones."""
    known = {key_of(cfg) for cfg in configurations()}
    return [cfg for cfg in drawn(SEED + 3, LATER_COUNTS) if key_of(cfg) not in known]


def drawn(seed, counts):
    """All configurations, families mixed, so that an interrupted campaign has some of each."""
    draw = random.Random(seed)
    makers = {"mlp": lambda _: mlp(draw), "cnn": lambda _: cnn(draw), "hf": lambda _: hugging_face(draw),
              "llm": lambda _: llama(draw), "tv": lambda number: named(draw, "tv", TORCHVISION, number),
              "timm": lambda number: named(draw, "timm", TIMM, number)}
    found = {}
    for family, count in counts.items():
        number = 0
        while sum(cfg["fam"] == family for cfg in found.values()) < count:
            cfg = makers[family](number)
            found.setdefault(key_of(cfg), cfg)
            number += 1
    ordered = sorted(found)
    draw.shuffle(ordered)
    return [found[key] for key in ordered]


def fresh_configurations():
    """Some of each family, each to be run in a new process."""
    chosen, each = [], FRESH // len(COUNTS)
    for family in COUNTS:
        chosen += [cfg for cfg in configurations() if cfg["fam"] == family][:each]
    return chosen
