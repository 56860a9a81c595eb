"""Networks for images: classification at several sizes, segmentation, detection."""

import dataclasses
from typing import Callable

from models import loops
from models.registry import FULL_PRECISION, Entry


@dataclasses.dataclass(frozen=True)
class Net:
    """A classifier: its constructor, image size and optimizer."""

    make: Callable
    side: int = 224
    classes: int = 1000
    channels: int = 3
    optimizer: str = "momentum"


def _torchvision(name, **options):
    def make(classes):
        import torchvision
        return getattr(torchvision.models, name)(weights=None, num_classes=classes, **options)
    return make


def _resnet26(classes):
    from torchvision.models.resnet import Bottleneck, ResNet
    return ResNet(Bottleneck, [2, 2, 2, 2], num_classes=classes)


def _xception(classes):
    import timm
    return timm.create_model("legacy_xception", pretrained=False, num_classes=classes)


def _mnist_cnn(classes):
    from torch import nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.25), nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(128, classes))


def _cifar(make):
    return Net(make, side=32, classes=100)


_NETS = {
    "vit-h14": Net(_torchvision("vit_h_14"), optimizer="adamw"),
    "vit-b16": Net(_torchvision("vit_b_16"), optimizer="adamw"),
    "resnet50": Net(_torchvision("resnet50")),
    "resnet152": Net(_torchvision("resnet152")),
    "efficientnet-b0": Net(_torchvision("efficientnet_b0")),
    "mobilenet-v2": Net(_torchvision("mobilenet_v2")),
    "vgg16": Net(_torchvision("vgg16")),
    "densenet121": Net(_torchvision("densenet121")),
    "inception-v3": Net(_torchvision("inception_v3", init_weights=True), side=299),
    "xception": Net(_xception),
    "resnet18-cifar": _cifar(_torchvision("resnet18")),
    "resnet34-cifar": _cifar(_torchvision("resnet34")),
    "efficientnet-b0-cifar": _cifar(_torchvision("efficientnet_b0")),
    "mobilenet-v3-small-cifar": _cifar(_torchvision("mobilenet_v3_small")),
    "resnet26-cifar": Net(_resnet26, side=32, classes=10),
    "mnist-cnn": Net(_mnist_cnn, side=28, classes=10, channels=1, optimizer="adadelta"),
}


def _pictures(net, batch, dtype):
    import torch
    return torch.randn(batch, net.channels, net.side, net.side, device="cuda", dtype=dtype)


def _train_classifier(spec):
    import torch
    net = _NETS[spec.model]
    with loops.on_gpu():
        model = net.make(net.classes)
    pictures = _pictures(net, spec.batch, torch.float32)
    labels = torch.randint(net.classes, (spec.batch,), device="cuda")

    def loss_of(trained):
        scores = trained(pictures)
        if isinstance(scores, tuple):  # Inception's second head, at its published weight.
            return (torch.nn.functional.cross_entropy(scores[0], labels)
                    + 0.4 * torch.nn.functional.cross_entropy(scores[1], labels))
        return torch.nn.functional.cross_entropy(scores, labels)

    return loops.training(spec, model, loss_of, net.optimizer)


def _infer_classifier(spec):
    net = _NETS[spec.model]
    with loops.on_gpu():
        model = net.make(net.classes)
    pictures = _pictures(net, spec.batch, loops.inference_dtype(spec))
    return loops.inference(spec, model, lambda served: served(pictures))


def _unet():
    """A U-Net with a ResNet34 as encoder."""
    import torch
    import torchvision
    from torch import nn

    def block(before, after):
        return nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            net = torchvision.models.resnet34(weights=None)
            self.down = nn.ModuleList([
                nn.Sequential(net.conv1, net.bn1, net.relu),
                nn.Sequential(net.maxpool, net.layer1), net.layer2, net.layer3, net.layer4])
            self.up = nn.ModuleList([
                block(512 + 256, 256), block(256 + 128, 128), block(128 + 64, 64),
                block(64 + 64, 32)])
            self.last = block(32, 16)
            self.head = nn.Conv2d(16, _VOC_CLASSES, 3, padding=1)

        def forward(self, pictures):
            seen = [pictures]
            for part in self.down:
                seen.append(part(seen[-1]))
            hidden = seen.pop()
            for part in self.up:
                hidden = nn.functional.interpolate(hidden, scale_factor=2)
                hidden = part(torch.cat([hidden, seen.pop()], dim=1))
            return self.head(self.last(nn.functional.interpolate(hidden, scale_factor=2)))

    return UNet()


_VOC_CLASSES, _VOC_SIDE = 21, 512


def _train_unet(spec):
    import torch
    with loops.on_gpu():
        model = _unet()
    pictures = torch.randn(spec.batch, 3, _VOC_SIDE, _VOC_SIDE, device="cuda")
    classes = torch.randint(_VOC_CLASSES, (spec.batch, _VOC_SIDE, _VOC_SIDE), device="cuda")

    def loss_of(trained):
        return torch.nn.functional.cross_entropy(trained(pictures), classes)

    return loops.training(spec, model, loss_of, "momentum")


_COCO_CLASSES, _COCO_HEIGHT, _COCO_WIDTH = 91, 480, 640


def _coco_target():
    """Four random objects in an image."""
    import torch
    corners = torch.tensor([[20.0, 30.0], [200.0, 60.0], [90.0, 210.0], [380.0, 250.0]],
                           device="cuda")
    boxes = torch.cat([corners, corners + 150.0], dim=1)
    masks = torch.zeros(len(boxes), _COCO_HEIGHT, _COCO_WIDTH, dtype=torch.uint8, device="cuda")
    for mask, (left, top, right, bottom) in zip(masks, boxes.int().tolist()):
        mask[top:bottom, left:right] = 1
    labels = torch.arange(1, len(boxes) + 1, device="cuda")
    return {"boxes": boxes, "masks": masks, "labels": labels}


def _train_mask_rcnn(spec):
    import torch
    import torchvision
    with loops.on_gpu():
        model = torchvision.models.detection.maskrcnn_resnet50_fpn(
            weights=None, weights_backbone=None, num_classes=_COCO_CLASSES)
    pictures = [torch.rand(3, _COCO_HEIGHT, _COCO_WIDTH, device="cuda") for _ in range(spec.batch)]
    targets = [_coco_target() for _ in range(spec.batch)]

    def loss_of(trained):
        return sum(trained(pictures, targets).values())

    return loops.training(spec, model, loss_of, "momentum")


def _entry(model, task, batch, source):
    net = _NETS[model]
    build = _train_classifier if task == "train" else _infer_classifier
    kinds = {"adamw": "AdamW", "momentum": "SGD with momentum", "adadelta": "Adadelta"}
    how = f", {kinds[net.optimizer]}" if task == "train" else ""
    about = f"{net.side} x {net.side} pictures, {net.classes} classes{how}"
    return Entry(model, task, batch, about, source, build)


ENTRIES = (
    _entry("vit-h14", "train", 8, "KACE"),
    _entry("vit-b16", "train", 64, "ours"),
    _entry("vit-b16", "infer", 8, "KACE"),
    _entry("resnet50", "train", 32, "CARMA"),
    _entry("resnet50", "infer", 8, "KACE"),
    _entry("resnet152", "train", 32, "collocation study"),
    _entry("efficientnet-b0", "train", 32, "CARMA"),
    _entry("efficientnet-b0", "infer", 8, "ours"),
    _entry("mobilenet-v2", "train", 32, "CARMA"),
    _entry("mobilenet-v2", "infer", 8, "KACE"),
    _entry("vgg16", "train", 32, "CARMA, Herald"),
    _entry("densenet121", "train", 32, "CARMA"),
    _entry("inception-v3", "train", 32, "CARMA"),
    _entry("xception", "train", 32, "CARMA"),
    _entry("resnet18-cifar", "train", 32, "CARMA"),
    _entry("resnet34-cifar", "train", 32, "CARMA"),
    _entry("efficientnet-b0-cifar", "train", 32, "CARMA"),
    _entry("mobilenet-v3-small-cifar", "train", 32, "CARMA"),
    _entry("resnet26-cifar", "train", 32, "collocation study"),
    _entry("mnist-cnn", "train", 64, "CARMA"),
    Entry("unet-resnet34", "train", 8,
          f"segmentation, {_VOC_SIDE} x {_VOC_SIDE} pictures, SGD with momentum", "CARMA",
          _train_unet),
    # Its boxes are computed in fp32, regardless of autocast.
    Entry("maskrcnn-resnet50", "train", 8,
          f"detection, {_COCO_WIDTH} x {_COCO_HEIGHT} pictures, SGD with momentum", "CARMA",
          _train_mask_rcnn, dtypes=FULL_PRECISION),
)
