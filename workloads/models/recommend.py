"""A recommender like DLRM: embedding tables, pairwise products, two small networks."""

from models import loops
from models.registry import Entry

DENSE = 13
TABLES = (1_000_000,) * 8 + (100_000,) * 8 + (1_000,) * 10
WIDTH = 32


def _dlrm():
    import torch
    from torch import nn

    def network(*widths):
        layers = []
        for before, after in zip(widths, widths[1:]):
            layers += [nn.Linear(before, after), nn.ReLU()]
        return layers

    class Dlrm(nn.Module):
        def __init__(self):
            super().__init__()
            # Sparse gradients: only the rows of the batch are touched.
            self.tables = nn.ModuleList(
                nn.EmbeddingBag(rows, WIDTH, mode="sum", sparse=True) for rows in TABLES)
            self.bottom = nn.Sequential(*network(DENSE, 512, 256, WIDTH))
            features = len(TABLES) + 1
            self.register_buffer("pairs", torch.triu_indices(features, features, offset=1))
            products = features * (features - 1) // 2
            self.top = nn.Sequential(*network(products + WIDTH, 512, 256), nn.Linear(256, 1))

        def forward(self, dense, rows):
            below = self.bottom(dense)
            looked_up = [table(row) for table, row in zip(self.tables, rows)]
            features = torch.stack([below.float(), *looked_up], dim=1)
            products = torch.bmm(features, features.transpose(1, 2))
            chosen = products[:, self.pairs[0], self.pairs[1]]
            return self.top(torch.cat([below, chosen], dim=1)).squeeze(1)

    return Dlrm()


def _train(spec):
    import torch
    with loops.on_gpu():
        model = _dlrm()
    dense = torch.randn(spec.batch, DENSE, device="cuda")
    rows = [torch.randint(size, (spec.batch, 1), device="cuda") for size in TABLES]
    clicked = torch.randint(2, (spec.batch,), device="cuda").float()

    def loss_of(trained):
        return torch.nn.functional.binary_cross_entropy_with_logits(trained(dense, rows), clicked)

    return loops.training(spec, model, loss_of, optimizer="sgd")


ENTRIES = (
    Entry("dlrm", "train", 32768, f"{len(TABLES)} embedding tables of width {WIDTH}, SGD", "CARMA",
          _train),
)
