"""Models of the memory collector, by configuration. Random weights, nothing is downloaded."""
import torch
from torch import nn

AUTOCAST = {"ampbf16": torch.bfloat16, "amp16": torch.float16}


class Adapted(nn.Module):
    """LoRA: a frozen linear layer and a trained one of low rank."""

    def __init__(self, base, inputs, outputs, rank):
        super().__init__()
        self.base = base
        self.first = nn.Linear(inputs, rank, bias=False)
        self.second = nn.Linear(rank, outputs, bias=False)
        self.scale = 1.0 / rank

    def forward(self, x):
        return self.base(x) + self.second(self.first(x)) * self.scale


def adapt(model, rank):
    """Freezes the model and adds an adapter to each linear layer but the head."""
    from transformers.pytorch_utils import Conv1D
    head = model.get_output_embeddings()  # None: another head, or none
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for parent in list(model.modules()):
        if isinstance(parent, Adapted):
            continue
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and child is not head:
                sizes = child.in_features, child.out_features
            elif isinstance(child, Conv1D):
                sizes = child.weight.shape[0], child.weight.shape[1]
            else:
                continue
            weight = child.weight
            setattr(parent, name, Adapted(child, *sizes, rank).to(weight.device, weight.dtype))


def build_mlp(cfg):
    layers, width = [], cfg["inp"]
    for following in cfg["widths"]:
        layers.append(nn.Linear(width, following))
        width = following
        if cfg["bn"]:
            layers.append(nn.BatchNorm1d(width))
        layers.append(getattr(nn, cfg["act"])())
        if cfg["drop"]:
            layers.append(nn.Dropout(0.1))
    return nn.Sequential(*layers, nn.Linear(width, cfg["classes"]))


class PlainCnn(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        layers, channels, k = [], cfg["ch"], cfg["k"]
        for filters, stride in cfg["convs"]:
            layers.append(nn.Conv2d(channels, filters, k, stride, k // 2, bias=not cfg["bn"]))
            channels = filters
            if cfg["bn"]:
                layers.append(nn.BatchNorm2d(channels))
            kind = getattr(nn, cfg["act"])
            in_place = cfg["inplace"] and cfg["act"] in ("ReLU", "SiLU")
            layers.append(kind(inplace=True) if in_place else kind())
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, cfg["classes"])

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def build_image_model(cfg):
    if cfg["fam"] == "tv":
        import torchvision
        sized = {"image_size": cfg["res"]} if cfg["name"].startswith("vit") else {}
        return torchvision.models.get_model(cfg["name"], weights=None, num_classes=cfg["classes"], **sized)
    import timm
    model = timm.create_model(cfg["name"], pretrained=False, num_classes=cfg["classes"])
    if cfg["ckpt"]:
        model.set_grad_checkpointing(True)
    return model


def build_text_model(cfg):
    import transformers
    config = transformers.AutoConfig.for_model(cfg["type"], **cfg["conf"])
    config.use_cache = cfg["mode"] == "infer"
    if cfg["task"] == "seq":
        config.num_labels, config.pad_token_id = 2, 0
    kind = {"mlm": transformers.AutoModelForMaskedLM, "clm": transformers.AutoModelForCausalLM,
            "seq": transformers.AutoModelForSequenceClassification}[cfg["task"]]
    model = kind.from_config(config, attn_implementation=cfg["attn"])
    if cfg["ckpt"] and cfg["mode"] == "train":
        model.gradient_checkpointing_enable()
        if cfg["lora"]:
            model.enable_input_require_grads()
    return model


def build(cfg):
    """The model, created on the GPU in 32 bits, then converted."""
    with torch.device("cuda"):
        if cfg["fam"] == "mlp":
            model = build_mlp(cfg)
        elif cfg["fam"] == "cnn":
            model = PlainCnn(cfg)
        elif cfg["fam"] in ("tv", "timm"):
            model = build_image_model(cfg)
        else:
            model = build_text_model(cfg)
    if cfg["prec"] == "bf16":
        model.to(torch.bfloat16)
    if cfg.get("lora"):
        adapt(model, cfg["lora"])
    if cfg.get("cl"):
        model.to(memory_format=torch.channels_last)
    return model.train(cfg["mode"] == "train")


def make_input(cfg):
    dtype = torch.bfloat16 if cfg["prec"] == "bf16" else torch.float32
    if "seq" in cfg:
        return torch.randint(0, cfg["conf"]["vocab_size"], (cfg["batch"], cfg["seq"]), device="cuda"), None
    if cfg["fam"] == "mlp":
        inputs = torch.randn(cfg["batch"], cfg["inp"], device="cuda", dtype=dtype)
    else:
        inputs = torch.randn(cfg["batch"], cfg.get("ch", 3), cfg["res"], cfg["res"], device="cuda", dtype=dtype)
        if cfg.get("cl"):
            inputs = inputs.to(memory_format=torch.channels_last)
    return inputs, torch.randint(0, cfg["classes"], (cfg["batch"],), device="cuda")


def make_optimizer(cfg, model):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    make = {"sgd": lambda: torch.optim.SGD(trained, 1e-4), "sgdm": lambda: torch.optim.SGD(trained, 1e-4, momentum=0.9),
            "adam": lambda: torch.optim.Adam(trained, 1e-4), "adamw": lambda: torch.optim.AdamW(trained, 1e-4),
            "adamw_fused": lambda: torch.optim.AdamW(trained, 1e-4, fused=True),
            "adamw_single": lambda: torch.optim.AdamW(trained, 1e-4, foreach=False),
            "rmsprop": lambda: torch.optim.RMSprop(trained, 1e-4), "adagrad": lambda: torch.optim.Adagrad(trained, 1e-4)}
    return make[cfg["opt"]]()


def loss_of(cfg, model, inputs, labels):
    if "seq" in cfg:
        classes = torch.zeros(cfg["batch"], dtype=torch.long, device="cuda") if cfg["task"] == "seq" else inputs
        return model(input_ids=inputs, labels=classes).loss
    out = model(inputs)
    return nn.functional.cross_entropy((out if torch.is_tensor(out) else out[0]).float(), labels)


def train_step(cfg, model, optimizer, inputs, labels, scaler):
    optimizer.zero_grad(set_to_none=True)
    for _ in range(cfg["accum"]):
        with torch.autocast("cuda", AUTOCAST.get(cfg["prec"]), enabled=cfg["prec"] in AUTOCAST):
            loss = loss_of(cfg, model, inputs, labels)
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def infer_step(cfg, model, inputs):
    with torch.no_grad(), torch.autocast("cuda", AUTOCAST.get(cfg["prec"]), enabled=cfg["prec"] in AUTOCAST):
        if cfg.get("task") == "clm":
            out = model(input_ids=inputs, use_cache=True)
            cache, token = out.past_key_values, out.logits[:, -1:].argmax(-1)
            del out
            for _ in range(cfg.get("decode", 4)):
                out = model(input_ids=token, past_key_values=cache, use_cache=True)
                token = out.logits[:, -1:].argmax(-1)
            return
        if "seq" in cfg:
            model(input_ids=inputs)
        else:
            model(inputs)
