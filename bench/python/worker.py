"""The Python side of bench/run: the same cases as carpool_bench, asked and answered in the same way.

Usage: worker.py DATASET < questions
"""

import gc
import json
import pathlib
import sys
import time

import numpy as np
from kace_data import KaceData
from share_numpy import ShareModel
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RandomizedSearchCV


def standardize(values):
    return (values - values.mean(0)) / values.std(0, ddof=1)


class SumProblem:
    """What the published models are fitted on."""

    def __init__(self, data, rows):
        self.features = data.member_features()
        # A column is added up or averaged over the members: a factor on the sum does both.
        self.factor = np.where(data.averaged, 1.0 / data.members.shape[1], 1.0)
        self.groups = data.members[rows]
        self.sums = data.throughput[rows].sum(1)
        self.inputs = standardize(self.group_features(self.groups))
        self.targets = standardize(self.sums)

    def group_features(self, groups):
        return self.features[groups].sum(1) * self.factor

    def train_linear(self):
        inputs = standardize(self.group_features(self.groups))
        return LinearRegression().fit(inputs, standardize(self.sums))

    def fit_linear(self):
        return LinearRegression().fit(self.inputs, self.targets)

    def search_forest(self):
        space = {
            "n_estimators": list(range(200, 2001, 200)),
            "max_features": ["sqrt", "log2"],
            "max_depth": list(range(10, 111, 10)) + [None],
            "min_samples_split": [2, 5, 10],
            "min_samples_leaf": [1, 2, 4],
            "bootstrap": [True, False],
        }
        search = RandomizedSearchCV(
            RandomForestRegressor(random_state=42), space, n_iter=100, cv=5, random_state=42, n_jobs=1
        )
        return search.fit(self.inputs, self.targets)


def coefficients(fitted):
    return {"coefficients": fitted.coef_.tolist(), "intercept": float(fitted.intercept_)}


def search_result(search):
    best = search.best_params_
    return {
        "best": int(search.best_index_),
        "score": float(search.best_score_),
        "trees": best["n_estimators"],
        "min_samples_split": best["min_samples_split"],
        "min_samples_leaf": best["min_samples_leaf"],
        "bootstrap": best["bootstrap"],
    }


class LastResult:
    """Keeps what the last call gave, so that a call of minutes need not be repeated to be checked."""

    def __init__(self, function):
        self.function = function
        self.value = None

    def __call__(self):
        self.value = self.function()

    def get(self):
        if self.value is None:
            self()
        return self.value


def training_cases(data):
    cases = {}
    for n_occur in (3, 10):
        split = data.split(n_occur)
        problem = SumProblem(data, split["fit"])
        training = np.concatenate([split["fit"], split["holdout"]])
        members, throughput = data.members[training], data.throughput[training]
        test = data.members[split["test"]]

        def train_share(members=members, throughput=throughput):
            return ShareModel(data, members, throughput)

        def test_sums(train=train_share, test=test):
            return {"sums": train().forecaster(len(data.names)).sums(test).tolist()}

        cases[f"lr_train/n{n_occur}"] = problem.train_linear, lambda p=problem: coefficients(p.train_linear())
        cases[f"lr_fit/n{n_occur}"] = problem.fit_linear, lambda p=problem: coefficients(p.fit_linear())
        cases[f"share_fit/n{n_occur}"] = train_share, test_sums
    search = LastResult(SumProblem(data, data.split(3)["fit"]).search_forest)
    cases["forest_search/n3"] = search, lambda: search_result(search.get())
    return cases


def choice_cases(data):
    split = data.split(3)
    training = np.concatenate([split["fit"], split["holdout"]])
    workloads = np.unique(data.members)
    first, second = np.triu_indices(len(workloads))
    pairs = np.column_stack([workloads[first], workloads[second]])
    share = ShareModel(data, data.members[training], data.throughput[training])
    forecaster = share.forecaster(len(data.names))
    problem = SumProblem(data, split["fit"])
    linear = problem.train_linear()

    def best_by_share():
        return int(np.argmax(forecaster.sums(pairs)))

    def best_by_linear():
        # As published: candidates are standardized by themselves.
        return int(np.argmax(linear.predict(standardize(problem.group_features(pairs)))))

    def answer(best):
        return lambda: {"candidates": len(pairs), "best": best()}

    return {
        "choose/share": (best_by_share, answer(best_by_share)),
        "choose/kace-lr": (best_by_linear, answer(best_by_linear)),
    }


def time_calls(call, at_least_s):
    """As stopwatch.cpp; without the garbage collector, as timeit does it."""
    calls = 1
    gc.disable()
    try:
        while True:
            started, cpu_started = time.perf_counter(), time.process_time()
            for _ in range(calls):
                call()
            cpu, wall = time.process_time() - cpu_started, time.perf_counter() - started
            if cpu >= at_least_s:
                return {"cpu_s": cpu / calls, "wall_s": wall / calls, "calls": calls}
            calls *= 2
    finally:
        gc.enable()


def reply(cases, question):
    verb, *rest = question.split()
    if verb == "list":
        return {"cases": list(cases)}
    if not rest or rest[0] not in cases:
        return {"error": f"no case in '{question.strip()}'"}
    call, answer = cases[rest[0]]
    if verb == "answer":
        return answer()
    if verb == "time":
        return time_calls(call, float(rest[1]))
    return {"error": f"no question '{verb}'"}


def main():
    data = KaceData(pathlib.Path(sys.argv[1]))
    cases = {**training_cases(data), **choice_cases(data)}
    for question in sys.stdin:
        print(json.dumps(reply(cases, question)), flush=True)


if __name__ == "__main__":
    main()
