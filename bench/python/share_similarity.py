"""Features of workloads, their similarity, and pair interactions, in NumPy: src/model/share/design and pair_interaction."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

PSEUDO_OBSERVATIONS = 10.0
REACH, PAIR_NOISE = 0.5, 0.05
RATIOS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # variance of the process over that of the noise
FIRST_TRIED = 2


def inverse(matrix):
    """Of a symmetric positive definite matrix."""
    factor, _ = dpotrf(matrix.T, lower=1)  # zeros above the diagonal
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    out = lower + lower.T
    out.ravel()[:: len(out) + 1] *= 0.5
    return out


def standardised(logs, least):
    deviation = logs.std(0)
    return (logs - logs.mean(0)) / np.where(deviation < 1e-9, np.inf, np.maximum(deviation, least))


def given_features(metrics, exclusive):
    return standardised(np.log(np.column_stack([np.maximum(metrics, 0.0), exclusive]) + 1e-3), 0.0)


def features_from_both(metrics, full, exclusive):
    """Shares also enter by their distance to full scale; a metric that hardly varies stays small."""
    share = np.isfinite(full)
    parts = np.where(share, np.minimum(metrics / np.where(share, full, 1.0), 1.0), np.maximum(metrics, 0.0))
    logs = [np.log(parts + 1e-3), -np.log(1.0 - parts[:, share] + 1e-2), np.log(exclusive + 1e-3)]
    return standardised(np.column_stack(logs), 0.1)


def similarity_matrices(features, batch, family):
    """One matrix for each kind of similarity."""
    size = np.log2(batch)
    size = (size - size.mean()) / size.std()
    same = (family[:, None] == family[None, :]).astype(float)
    sizes = np.outer(size, size)
    return {
        "common": np.ones_like(same),
        "features": features @ features.T * min(1.0, 10.0 / features.shape[1]),
        "family": same,
        "batch": sizes,
        "family_batch": same * sizes,
        "own": np.eye(len(same)),
    }


def closeness(features):
    square = (features * features).mean(1)
    distance = square[:, None] + square[None, :] - 2.0 / features.shape[1] * (features @ features.T)
    return np.exp(-np.maximum(distance, 0.0) / (2.0 * REACH**2))


def pair_interactions(near, own, other, residual):
    """The interaction of every pair of workloads, and what remains of each residual when it is predicted from the
    others."""
    similarity = near[np.ix_(own, own)] * near[np.ix_(other, other)]

    def tried(ratio):
        factor, _ = dpotrf((ratio * similarity + np.eye(len(own))).T, lower=1)
        solved, _ = dpotrs(factor, residual, lower=1)
        count = len(own) + PSEUDO_OBSERVATIONS
        variance = (residual @ solved + PSEUDO_OBSERVATIONS * PAIR_NOISE**2) / count
        surprise = 0.5 * count * np.log(variance) + np.log(np.diag(factor)).sum()
        return surprise, ratio, solved, factor

    best = start = tried(RATIOS[FIRST_TRIED])
    for ratios in (RATIOS[FIRST_TRIED + 1 :], RATIOS[:FIRST_TRIED][::-1]):
        for ratio in ratios:
            next_one = tried(ratio)
            if next_one[0] >= best[0]:
                break
            best = next_one
        if best is not start:
            break
    _, ratio, solved, factor = best
    inverted, _ = dpotri(factor, lower=1)
    pull = np.zeros_like(near)
    np.add.at(pull, (own, other), ratio * solved)
    return near @ pull @ near, solved / np.diag(inverted)
