"""The processes of bench/slo/run. All of them stay, and compute only when they are asked."""

import time

import latency

SERVICE_CORES = (0, 4)
TRAINER_CORES = (4, 12)
START_LIMIT_S = 180.0


def must(answer):
    if "error" in answer:
        raise RuntimeError(answer["error"] + answer.get("stderr", ""))
    return answer


def of_all(residents, cell, limit_s=START_LIMIT_S, options=None):
    """The answers of several processes that compute at the same time. `options`: of each one."""
    for number, resident in enumerate(residents):
        resident.send(cell, **(options[number] if options else {}))
    return [must(resident.answer(limit_s)) for resident in residents]


class Stage:
    """Services with and without MPS and for each gate, trainers for each way, and one to be timed alone."""

    def __init__(self, bench, chosen, pipes, services, trainers):
        self.bench, self.folder, self.chosen, self.pipes = bench, bench.folder, chosen, pipes
        self.counts = services, trainers
        self.alone = bench.residents.get("trainer-alone", "off", env=pipes)
        self.profiled = bench.residents.get("trainer-profiled", "off", env={})  # for the profiler, which stays in its process
        self.services, self.trainers, self.solo, self.longest = {}, {}, {}, {}
        for mps in {way.kind.service_mps for way in chosen.ways if not way.gated} | {False}:
            self.services[mps] = self.start(f"service-{'mps' if mps else 'plain'}", services, pipes if mps else {})
        self.pin([each for group in self.services.values() for each in group], *SERVICE_CORES)
        self.pin([self.alone, self.profiled], *TRAINER_CORES)
        self.begin([way for way in chosen.ways if not way.times_alone])

    def begin(self, ways):
        """Starts the processes of these ways."""
        services, trainers = self.counts
        for way in ways:
            gate = way.gate_environment(self.folder) if way.gated else {}
            self.trainers[way] = self.start(f"trainer-{way.in_file_names}", trainers,
                                            {**(self.pipes if way.kind.trainer_mps else {}), **way.kind.trainer_environment, **gate})
            if way.gated:
                self.services[way] = self.start(f"service-{way.in_file_names}", services,
                                                {**(self.pipes if way.kind.service_mps else {}),
                                                 **way.gate_environment(self.folder, self.chosen.quantile)})
        self.pin([each for way in ways if way.gated for each in self.services[way]], *SERVICE_CORES)
        self.pin([each for way in ways for each in self.trainers[way]], *TRAINER_CORES)

    def end(self, ways):
        for way in ways:
            self.bench.residents.drop(*(each.name for each in self.services.pop(way, []) + self.trainers.pop(way, [])))

    def start(self, name, count, environment):
        return [self.bench.residents.get(f"{name}-{number}", "off", env=environment) for number in range(count)]

    @staticmethod
    def pin(residents, first, count):
        of_all(residents, "pin", options=[{"first": first, "count": count} for _ in residents])

    def services_of(self, way):
        return self.services[way if way.gated else way.kind.service_mps]

    def build_services(self, ways, loads):
        """Of all these ways at the same time: to build a model takes seconds."""
        named = {resident: load.name for way in ways for resident, load in zip(self.services_of(way), loads)}
        of_all(list(named), "ready", options=[{"service": name} for name in named.values()])

    def build_trainers(self, ways, trainers):
        named = {resident: trainer for way in ways for resident, trainer in zip(self.trainers[way], trainers)}
        of_all(list(named), "build", options=[{"trainer": name} for name in named.values()])

    def limit_s(self):
        return 4 * (self.chosen.warm_up + self.chosen.seconds) + 30.0

    def serve(self, residents, loads, seed):
        """All services at the same time: what each of them tells."""
        return of_all(residents[:len(loads)], "serve", self.limit_s(),
                      [{"service": load.name, "rate": load.rate, "seconds": self.chosen.seconds, "seed": seed, "warm_up": self.chosen.warm_up}
                       for load in loads])

    def alone_latencies(self, loads):
        """Of each service without a neighbour, one after the other; the seeds together."""
        resident = self.services[False][0]
        return [[value for seed in self.chosen.seeds for value in self.serve([resident], [load], seed)[0]["latencies"]] for load in loads]

    def weights(self, trainer, way=None, load=None):
        """A hash of what the trainer learns in --weights steps: alone, or beside the service in this way."""
        ask = {"trainer": trainer, "steps": self.chosen.weights}
        if way is None:
            return must(self.alone.ask("weights", START_LIMIT_S, **ask))["sha256"]
        service, resident = self.services_of(way)[0], self.trainers[way][0]
        service.send("serve", service=load.name, rate=load.rate, seconds=self.chosen.seconds, seed=1, warm_up=0.0)
        found = must(resident.ask("weights", START_LIMIT_S, **ask))["sha256"]
        must(service.answer(self.limit_s()))
        return found

    def solo_speed(self, trainer):
        if trainer not in self.solo:
            self.solo[trainer] = self.measured_solo_speed(trainer)
        return self.solo[trainer]

    def longest_kernel(self, trainer):
        """As the cell tells it."""
        if trainer not in self.longest:
            self.longest[trainer] = must(self.profiled.ask("longest", START_LIMIT_S, trainer=trainer))
        return self.longest[trainer]

    def measured_solo_speed(self, trainer):
        must(self.alone.ask("prepare", START_LIMIT_S, trainer=trainer))
        seconds = min(6.0, self.chosen.seconds)
        moments = must(self.alone.ask("train", START_LIMIT_S, trainer=trainer, seconds=seconds))["moments"]
        speed = latency.speed(moments, (moments[len(moments) // 3], moments[-1]))  # without the start
        if speed <= 0.0:
            raise RuntimeError(f"{trainer} alone: {len(moments)} steps in {seconds:g} s are too few for a speed; take more --seconds")
        return speed

    def beside(self, way, trainers, loads):
        """Services and trainers at the same time: what each service tells, by seed; speeds of the trainers in the same windows, and their stamps."""
        services, training = self.services_of(way), self.trainers[way][:len(trainers)]
        for resident, trainer in zip(training, trainers):
            resident.send("prepare", trainer=trainer)
        of_all(services[:len(loads)], "ready", options=[{"service": load.name} for load in loads])
        for resident in training:
            must(resident.answer(START_LIMIT_S))
        stop = self.folder / f"stop-{time.monotonic_ns()}"
        # Until the last request is answered: under load that is later than its arrival.
        for resident, trainer in zip(training, trainers):
            resident.send("train", trainer=trainer, seconds=len(self.chosen.seeds) * self.limit_s(), stop=str(stop))
        try:
            rounds = [self.serve(services, loads, seed) for seed in self.chosen.seeds]
        finally:
            stop.touch()
        trained = [must(resident.answer(START_LIMIT_S)) for resident in training]
        windows = [served[0]["window"] for served in rounds]
        speeds = [sum(latency.speed(each["moments"], window) for window in windows) / len(windows) for each in trained]
        return list(zip(*rounds)), speeds, [moment for each in trained for moment in each["stamps"]]
