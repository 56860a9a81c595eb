"""The training of `share` in NumPy: both fits of src/model/share, for one size of groups.

Written for speed: nothing is computed twice, loops run over blocks, rounds and steps only, slopes
that are always 0 are not stored, and the linear algebra is that of LAPACK for symmetric matrices.

For member i of a group S, with log capacity c, log weight b and headroom d,
    log T_i(S) = c_i - log(1 + sum over the others j of exp(b_j - b_i - d_i)) + noise
and for solo runs log E_i = c_i - e_i + noise. The residual of a pair is a Gaussian process over pairs of workloads.
"""

import numpy as np
from scipy.linalg.lapack import dposv

from share_similarity import (PSEUDO_OBSERVATIONS, closeness, features_from_both, given_features, inverse,
                              pair_interactions, similarity_matrices)

NOISE = 0.2
FREEDOM = 3.0  # of Student's t
ROUNDS, LONG_FIT, SHORT_FIT = 12, 100, 3
NORMAL95, STUDENT95 = 1.6448536269514722, 2.3533634348018264

# Prior deviation of each effect, by block (capacity, weight, headroom, gap).
GIVEN = [
    {"features": 0.1, "own": 0.7},
    {"features": 0.08, "own": 0.5},
    {"common": 1.0, "features": 0.08, "own": 0.3},
]
HIERARCHICAL = [
    {"common": 1.0, "features": 0.1, "family": 1.0, "own": 0.1},
    {"features": 0.08, "family": 0.4, "batch": 0.3, "family_batch": 0.3, "own": 0.1},
    {"common": 1.0, "features": 0.08, "family": 0.5, "own": 0.1},
    {"common": 0.3, "features": 0.1, "own": 1e-3},
]
FIXED = (3, 2)  # the last effect of the gap is not learned


class Problem:
    """Residuals, slopes and the descent for one prior and noise.

    An observation depends on few unknowns: its slopes are one row of `slopes`, and `unknowns` says
    on what. Both are padded with slopes of 0 where solo runs have fewer.
    """

    def __init__(self, members, level, observed, solo, freedom):
        rows, size = members.shape
        n = len(level)
        partner = np.array([[j for j in range(size) if j != i] for i in range(size)], int)
        self.workloads = n
        self.blocks = 3 if solo is None else 4
        self.own = members.ravel()
        self.others = members[:, partner].reshape(rows * size, size - 1)
        self.runs = len(self.own)
        self.freedom = freedom
        self.measured = observed.ravel() - level[self.own]
        unknowns = np.column_stack([self.own, n + self.own, 2 * n + self.own, n + self.others])
        if solo is not None:
            self.measured = np.concatenate([self.measured, solo - level])
            ends = np.zeros((n, unknowns.shape[1]), int)
            ends[:, 0] = np.arange(n)
            ends[:, 1] = 3 * n + np.arange(n)
            unknowns = np.concatenate([unknowns, ends])
        self.unknowns = unknowns
        self.count = self.blocks * n
        self.entries = (unknowns[:, :, None] * self.count + unknowns[:, None, :]).ravel()
        self.slopes = np.zeros(unknowns.shape)
        self.slopes[:, 0] = 1.0
        self.slopes[self.runs :, 1] = -1.0
        self.variance = np.full(len(unknowns), NOISE**2)

    def residuals(self, latents):
        """Measured - predicted, and how much of a member's crowding each of the others is."""
        n = self.workloads
        weight = latents[n : 2 * n]
        resistance = weight + latents[2 * n : 3 * n]
        terms = np.exp(weight[self.others] - resistance[self.own, None])
        crowd = 1.0 + terms.sum(1)
        predicted = latents[self.own] - np.log(crowd)
        if self.blocks == 4:
            predicted = np.concatenate([predicted, latents[:n] - latents[3 * n :]])
        return self.measured - predicted, terms / crowd[:, None]

    def linearise(self, residual, shares):
        """Fills the slopes; returns the weights of the reweighted least squares, and both multiplied."""
        pressed = shares.sum(1, keepdims=True)
        self.slopes[: self.runs, 1:3] = pressed
        np.negative(shares, out=self.slopes[: self.runs, 3:])
        if self.freedom is None:
            weight = 1.0 / self.variance
        else:
            weight = (self.freedom + 1.0) / (self.freedom * self.variance + residual * residual)
        return weight, self.slopes * weight[:, None]

    def curvature(self, weighted, precision):
        products = weighted[:, :, None] * self.slopes[:, None, :]
        added = np.bincount(self.entries, products.ravel(), precision.size)
        return added.reshape(precision.shape) + precision

    def cost(self, latents, precision, residual):
        square = residual * residual / self.variance
        if self.freedom is None:
            loss = 0.5 * square.sum()
        else:
            loss = 0.5 * (self.freedom + 1.0) * np.log1p(square / self.freedom).sum()
        return loss + 0.5 * latents @ (precision @ latents)

    def minimise(self, latents, precision, most_steps):
        """Levenberg-Marquardt; returns latents, residuals, weights and the curvature there."""
        damping = 1e-3
        residual, shares = self.residuals(latents)
        reached = self.cost(latents, precision, residual)
        unknowns = self.unknowns.ravel()
        for _ in range(most_steps):
            _, weighted = self.linearise(residual, shares)
            normal = self.curvature(weighted, precision)
            pull = np.bincount(unknowns, (weighted * residual[:, None]).ravel(), self.count)
            descent = pull - precision @ latents
            improved = False
            while damping < 1e8:
                damped = normal.copy()
                damped.ravel()[:: self.count + 1] *= 1.0 + damping
                # The matrix is symmetric: its transpose is in the order LAPACK wants, without a copy.
                _, step, _ = dposv(damped.T, descent, lower=1, overwrite_a=1)
                moved = latents + step
                moved_residual, moved_shares = self.residuals(moved)
                cost = self.cost(moved, precision, moved_residual)
                if cost < reached:
                    improved = True
                    break
                damping *= 4.0
            if not improved:
                break
            gain = (reached - cost) / max(abs(reached), 1e-9)
            latents, residual, shares, reached = moved, moved_residual, moved_shares, cost
            damping /= 5.0
            if gain < 1e-6:
                break
        weight, weighted = self.linearise(residual, shares)
        return latents, residual, weight, self.curvature(weighted, precision)


class Prior:
    """Covariance of each block as a sum of effects."""

    def __init__(self, effects, similarity):
        self.start = [np.array(list(block.values())) ** 2 for block in effects]
        self.variances = [start.copy() for start in self.start]
        self.matrices = [np.array([similarity[name] for name in block]) for block in effects]
        self.workloads = len(similarity["own"])
        self.inverses = []

    def precision(self):
        n = self.workloads
        blocks = len(self.matrices)
        out = np.zeros((blocks * n, blocks * n))
        self.inverses = []
        for k, (variances, matrices) in enumerate(zip(self.variances, self.matrices)):
            self.inverses.append(inverse(np.tensordot(variances, matrices, 1)))
            out[k * n : (k + 1) * n, k * n : (k + 1) * n] = self.inverses[-1]
        return out

    def follow_evidence(self, latents, covariance):
        """One step of MacKay's fixed point. A: similarity, K: covariance of the block, m, S: its
        posterior; tr A K^-1 and tr A (K^-1 S K^-1) are sums over products of entries."""
        n = self.workloads
        for k, (variances, matrices) in enumerate(zip(self.variances, self.matrices)):
            block = slice(k * n, (k + 1) * n)
            solved = self.inverses[k] @ latents[block]
            spread = self.inverses[k] - self.inverses[k] @ covariance[block, block] @ self.inverses[k]
            flat = matrices.reshape(len(matrices), -1)
            used = variances * (flat @ np.outer(solved, solved).ravel())
            determined = variances * (flat @ spread.ravel())
            moved = variances * (used + PSEUDO_OBSERVATIONS * self.start[k] / variances)
            moved /= determined + PSEUDO_OBSERVATIONS
            if k == FIXED[0]:
                moved[FIXED[1]] = variances[FIXED[1]]
            self.variances[k] = moved


def follow_noise(problem, residual, weight, covariance):
    between = covariance.ravel()[problem.entries].reshape(problem.slopes.shape + (-1,))
    leverage = weight * np.einsum("ki,kij,kj->k", problem.slopes, between, problem.slopes)
    square = weight * residual * residual * problem.variance
    for part in (slice(0, problem.runs), slice(problem.runs, None)):
        freedom = max(len(square[part]) - leverage[part].sum(), 0.0)
        problem.variance[part] = (square[part].sum() + PSEUDO_OBSERVATIONS * NOISE**2) / (
            freedom + PSEUDO_OBSERVATIONS
        )


def leave_one_row_out(problem, size, residual, weight, covariance):
    """The residuals that rows left out in turn would have, and half of their 90 % intervals."""
    slopes = problem.slopes[: problem.runs].reshape(-1, size, problem.slopes.shape[1])
    unknowns = problem.unknowns[: problem.runs].reshape(slopes.shape)
    between = covariance[unknowns[:, :, None, :, None], unknowns[:, None, :, None, :]]
    spread = np.einsum("ria,rijab,rjb->rij", slopes, between, slopes, optimize=True)
    residual = residual[: problem.runs].reshape(-1, size)
    weight = weight[: problem.runs].reshape(-1, size)
    growth = np.linalg.inv(np.eye(size) - spread * weight[:, None, :])
    left_out = np.einsum("rij,rj->ri", growth, residual)
    variance = np.einsum("rij,rji->ri", growth, spread)
    width = NORMAL95**2 * np.maximum(variance, 0.0) + STUDENT95**2 * problem.variance[0]
    return left_out, np.sqrt(width)


def inflation(left_out, width):
    """Factor on interval widths that covers 90 % of the rows left out."""
    standardised_errors = np.sort((np.abs(left_out) / width).ravel())
    rank = min(len(standardised_errors), int(np.ceil(0.9 * (len(standardised_errors) + 1))))
    return np.clip(standardised_errors[rank - 1], 0.5, 2.0)


class ShareModel:
    """Trained on pairs (rows, 2) with their throughput, for the workloads that occur in them."""

    def __init__(self, data, members, throughput):
        self.trained, place = np.unique(members, return_inverse=True)
        place = place.reshape(members.shape)
        metrics, exclusive = data.metrics[self.trained], data.exclusive[self.trained]
        solo = np.log(exclusive)
        observed = np.log(throughput)
        batch, family = data.batch[self.trained], data.family[self.trained]
        plain = similarity_matrices(given_features(metrics, exclusive), batch, family)
        given = self.fit_given(place, observed, solo, plain)
        features = features_from_both(metrics, data.full, exclusive)
        hierarchical = self.fit_hierarchical(place, observed, solo, similarity_matrices(features, batch, family))
        n = len(solo)
        # Two fits with different assumptions, neither preferred: their parameters are averaged.
        both = 0.5 * (given[: 3 * n] + hierarchical[: 3 * n])
        self.log_capacity = both[:n] + 0.5 * (solo + solo.mean())
        self.log_weight = both[n : 2 * n]
        self.headroom = both[2 * n :]
        self.fit_pair_interactions(place, observed, closeness(features))

    @staticmethod
    def fit_given(place, observed, solo, similarity):
        problem = Problem(place, solo, observed, None, None)
        precision = Prior(GIVEN, similarity).precision()
        return problem.minimise(np.zeros(3 * len(solo)), precision, LONG_FIT)[0]

    def fit_hierarchical(self, place, observed, solo, similarity):
        n = len(solo)
        level = solo.mean()
        problem = Problem(place, np.full(n, level), observed, solo, FREEDOM)
        prior = Prior(HIERARCHICAL, similarity)
        latents = np.zeros(4 * n)
        latents[:n] = solo - level
        for turn in range(ROUNDS):
            last = turn == ROUNDS - 1
            precision = prior.precision()
            steps = LONG_FIT if turn == 0 or last else SHORT_FIT
            latents, residual, weight, curvature = problem.minimise(latents, precision, steps)
            self.covariance = inverse(curvature)
            if not last:
                prior.follow_evidence(latents, self.covariance)
                follow_noise(problem, residual, weight, self.covariance)
        left_out, self.width = leave_one_row_out(
            problem, place.shape[1], residual, weight, self.covariance
        )
        self.grown = left_out - residual[: problem.runs].reshape(left_out.shape)
        self.noise = np.sqrt(problem.variance[0])
        self.noise_solo = np.sqrt(problem.variance[-1])
        return latents

    def fit_pair_interactions(self, place, observed, near):
        resistance = self.log_weight + self.headroom
        predicted = self.log_capacity[place] - np.log1p(
            np.exp(self.log_weight[place[:, ::-1]] - resistance[place])
        )
        residual = (observed - predicted + self.grown).ravel()
        self.interaction, left_out = pair_interactions(near, place.ravel(), place[:, ::-1].ravel(), residual)
        self.inflation = inflation(left_out, self.width.ravel())
        measured = np.exp(observed)
        sums = (measured * np.exp(-left_out.reshape(measured.shape))).sum(1)
        self.holdout_error = np.mean(np.abs(sums / measured.sum(1) - 1.0))

    def forecaster(self, workloads):
        """For so many workloads; those not trained on are not known."""
        return Forecaster(self, workloads)


class Forecaster:
    """What a forecast needs of each workload, with the exponentials taken."""

    def __init__(self, model, workloads):
        self.capacity = np.full(workloads, np.nan)
        self.weight = np.full(workloads, np.nan)
        self.resistance = np.full(workloads, np.nan)
        self.interaction = np.full((workloads, workloads), np.nan)
        self.capacity[model.trained] = np.exp(model.log_capacity)
        self.weight[model.trained] = np.exp(model.log_weight)
        self.resistance[model.trained] = np.exp(-model.log_weight - model.headroom)
        self.interaction[np.ix_(model.trained, model.trained)] = np.exp(model.interaction)

    def sums(self, pairs):
        """Units/s of both members together, one value a pair."""
        others = pairs[:, ::-1]
        speeds = self.capacity[pairs] / (1.0 + self.resistance[pairs] * self.weight[others])
        return (speeds * self.interaction[pairs, others]).sum(1)
