"""Ways to damage the files of a server that is not running. Each returns what it did, in words."""

import json
import os

DB, WAL = "jobs.sqlite", "jobs.sqlite-wal"
INDEX_PAGES, FRAME_HEAD, WAL_HEAD = (0x02, 0x0a), 24, 32


def read(file):
    return bytearray(file.read_bytes())


def page_size(content):
    size = int.from_bytes(content[16:18], "big")
    return 65536 if size == 1 else max(512, size)


def flip(content, chance, first, last, most=8):
    places = [chance.randrange(first, last) for _ in range(chance.randrange(1, most + 1))]
    for place in places:
        content[place] ^= chance.randrange(1, 256)
    return f"{len(places)} bytes changed, the first at {places[0]}"


def flip_bytes(state, chance):
    content = read(state / DB)
    words = flip(content, chance, 0, len(content))
    (state / DB).write_bytes(content)
    return words


def zero_page(state, chance):
    content = read(state / DB)
    size = page_size(content)
    page = chance.randrange(len(content) // size)
    content[page * size:(page + 1) * size] = bytes(size)
    (state / DB).write_bytes(content)
    return f"page {page + 1} zeroed"


def truncate(state, chance):
    length = (state / DB).stat().st_size
    left = chance.randrange(1, length)
    os.truncate(state / DB, left)
    return f"cut from {length} to {left} bytes"


def swap_pages(state, chance):
    content = read(state / DB)
    size = page_size(content)
    one, other = chance.sample(range(len(content) // size), 2)
    ours, theirs = slice(one * size, (one + 1) * size), slice(other * size, (other + 1) * size)
    content[ours], content[theirs] = content[theirs], content[ours]
    (state / DB).write_bytes(content)
    return f"pages {one + 1} and {other + 1} swapped"


def index_page(content, chance):
    size = page_size(content)
    pages = [p for p in range(1, len(content) // size) if content[p * size] in INDEX_PAGES]
    return chance.choice(pages) if pages else 1, size


def flip_index(state, chance):
    """Only the cells: the head of the page still reads as that of an index."""
    content = read(state / DB)
    page, size = index_page(content, chance)
    words = flip(content, chance, page * size + 8, (page + 1) * size)
    (state / DB).write_bytes(content)
    return f"index page {page + 1}: {words}"


def empty_index(state, chance):
    """A valid index page without entries."""
    content = read(state / DB)
    page, size = index_page(content, chance)
    content[page * size:(page + 1) * size] = bytes([0x0a, 0, 0, 0, 0]) + (size % 65536).to_bytes(2, "big") + bytes(size - 7)
    (state / DB).write_bytes(content)
    return f"index page {page + 1} emptied"


def flip_wal(state, chance):
    content = read(state / WAL)
    words = flip(content, chance, 0, len(content))
    (state / WAL).write_bytes(content)
    return words


def zero_wal_frame(state, chance):
    content = read(state / WAL)
    frame = FRAME_HEAD + page_size(read(state / DB))
    number = chance.randrange((len(content) - WAL_HEAD) // frame)
    begin = WAL_HEAD + number * frame
    content[begin:begin + frame] = bytes(frame)
    (state / WAL).write_bytes(content)
    return f"frame {number + 1} of the log zeroed"


def truncate_wal(state, chance):
    length = (state / WAL).stat().st_size
    left = chance.randrange(length)
    os.truncate(state / WAL, left)
    return f"log cut from {length} to {left} bytes"


def delete_wal(state, _):
    for name in (WAL, "jobs.sqlite-shm"):
        (state / name).unlink(missing_ok=True)
    return "log deleted"


def empty_file(state, _):
    delete_wal(state, _)
    os.truncate(state / DB, 0)
    return "file emptied"


def delete_file(state, _):
    delete_wal(state, _)
    (state / DB).unlink()
    return "file deleted beside runs/"


def garbage(state, chance):
    content = read(state / DB)
    content[:200] = chance.randbytes(200)
    (state / DB).write_bytes(content)
    return "garbage at the beginning"


def damage_record(state, chance, run, name):
    file = state / "runs" / run / name
    content = read(file)
    how = chance.randrange(4)
    if how == 0:
        words = flip(content, chance, 0, len(content), 3)
    elif how == 1:
        del content[chance.randrange(len(content)):]
        words = f"cut to {len(content)} bytes"
    elif how == 2:
        content, words = bytearray(chance.randbytes(len(content))), "garbage"
    else:
        content, words = bytearray(json.dumps([]).encode()), "another JSON value"
    file.write_bytes(content)
    return f"runs/{run}/{name}: {words}"


# Kind: the function, and whether it needs the log that a killed server leaves. The records of runs are separate.
JOURNAL = {"flip-bytes": (flip_bytes, False), "zero-page": (zero_page, False), "truncate": (truncate, False),
           "swap-pages": (swap_pages, False), "flip-index": (flip_index, False), "empty-index": (empty_index, False),
           "flip-wal": (flip_wal, True), "zero-wal-frame": (zero_wal_frame, True), "truncate-wal": (truncate_wal, True),
           "delete-wal": (delete_wal, True), "empty-file": (empty_file, False), "delete-file": (delete_file, False),
           "garbage": (garbage, False)}
RECORDS = {"exit": "exit", "claim": "claim", "leader": "leader"}
KINDS = (*JOURNAL, *RECORDS)
