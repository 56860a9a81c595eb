"""The workloads, by family. Importing this imports no framework; builders do when called."""

from models import generate, recommend, recurrent, speech, text, translate, vision
from models.registry import Registry

REGISTRY = Registry(
    text.ENTRIES + vision.ENTRIES + speech.ENTRIES + generate.ENTRIES + translate.ENTRIES
    + recurrent.ENTRIES + recommend.ENTRIES
)
