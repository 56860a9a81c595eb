"""What the clients of a GPU say of the launch gate, from the shared state of the library (src/interpose/state/layout.hpp)."""

import struct

VERSION = 8
PAGE, SLOTS = 4096, 128
CLIENTS = 2 * PAGE + 128 * 64  # behind header, GPU and jobs
GATE = 3 * 64  # behind identity, counters and memory of a client
HOLDS = GATE + 4 * 64
REASONS = ("none", "in-flight-bound", "commands-in-flight", "request-active", "quiet-time", "arrival-expected", "slack-short", "tail-over-slo",
           "heavy-beside-request", "long-for-slo", "same-bottleneck", "no-free-sms", "other-clients-turn", "tighter-request", "rate-limit",
           "idle-slot-too-short", "iteration-of-other")
REASON_WORDS = 24


def words(data, offset, count):
    return struct.unpack_from(f"<{count}Q", data, offset)


def client(data, slot):
    base = CLIENTS + slot * PAGE
    launches, = words(data, base + 64, 1)
    policy, slo_ns = words(data, base + GATE, 2)
    requests, late, p50, tail, _, room = words(data, base + GATE + 64, 6)
    holds, held = words(data, base + HOLDS, REASON_WORDS), words(data, base + HOLDS + 8 * REASON_WORDS, REASON_WORDS)
    if slo_ns:
        return {"launches": launches, "requests": requests, "late": late, "p50_ms": p50 / 1e6, "tail_ms": tail / 1e6, "room": room / 1e6}
    found = {name: {"holds": count, "held_ms": time / 1e6} for name, count, time in zip(REASONS, holds, held) if count}
    return {"launches": launches, "policy": policy, "holds": found}


def read(folder):
    """Of the live clients, in the order of their slots; none where the state is absent or of another version."""
    clients = []
    for file in sorted(folder.glob("*.state")):
        data = file.read_bytes()[:CLIENTS + SLOTS * PAGE]
        if len(data) < CLIENTS + SLOTS * PAGE or struct.unpack_from("<I", data, 8)[0] != VERSION:
            continue
        clients += [client(data, slot) for slot in range(SLOTS) if words(data, CLIENTS + slot * PAGE + 8, 1)[0] == 1]
    return clients
