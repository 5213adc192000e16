"""What a graded module may do, by accident or not: each function ought to return twice its argument.

It is run by the tests of the grader in a child process, never imported.  The ids of processes that it starts go into a
file beside it, so that the tests can see that they are gone.
"""

import builtins
import contextlib
import functools
import json
import math
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

IDS = Path(__file__).with_suffix(".ids")


def note(pid):
    with open(IDS, "a", encoding="utf-8") as file:
        print(pid, file=file)


def right(x):
    return 2.0 * x


def is_not_shadowed_by_its_siblings(x):
    import fractions  # noqa: PLC0415 (nobody has imported it before)
    import json  # noqa: PLC0415

    return float(fractions.Fraction(2.0 * x)) if hasattr(random, "Random") and hasattr(json, "dumps") else None


def imports_a_sibling(x):
    import sibling  # noqa: PLC0415

    return sibling.twice(x)


def works_in_an_empty_folder(x):
    return 2.0 * x + len(os.listdir(".")) + (os.getcwd() in __file__)


# --- that do not come to an end ---


def loops(x):
    while True:
        pass


def sleeps(x):
    time.sleep(60)


def prints_without_end(x):
    while True:
        print("spam" * 100_000)
        sys.stderr.write("spam" * 100_000)


def floods_the_channel(x):
    while True:
        for descriptor in range(3, 12):
            with contextlib.suppress(OSError):
                os.write(descriptor, b"\n" * 50_000)


def sleeps_at_last(x):
    if x == 3.0:
        time.sleep(60)
    return 2.0 * x


def shows_itself_slowly(x):
    class Slow:
        def __repr__(self):
            time.sleep(60)

    return Slow()


# --- that end the process ---


def exits_at_once(x):
    os._exit(3)


def is_terminated(x):
    os.kill(os.getpid(), 15)


def overflows_the_stack(x):
    sys.setrecursionlimit(10**6)

    def deeper(n):
        return functools.reduce(lambda a, b: deeper(n + 1), [n, n])

    return deeper(0)


def closes_everything(x):
    os.closerange(0, 1000)
    return 2.0 * x


# --- that raise something ---


def exits(x):
    sys.exit(0)


def interrupts(x):
    raise KeyboardInterrupt


def fails(x):
    raise KeyError(f"no {x}")


def recurses(x):
    return recurses(x)


def asks_for_too_much_memory(x):
    return [0.0] * 10**10


def balloons(x):
    parts = []
    while True:
        parts.append(bytes(10**8))


def fills_the_disk(x):
    with open("large", "wb") as file:
        while True:
            file.write(bytes(10**7))


def reads_the_input(x):
    return float(input())


def has_no_text(x):
    class Silent(Exception):
        def __str__(self):
            raise ValueError

    raise Silent


# --- that return what is no answer ---


def nan(x):
    return math.nan


def text(x):
    return str(2.0 * x)


def nothing(x):
    pass


def generator(x):
    yield 2.0 * x


def boolean(x):
    return True


def scalar(x):
    return type("float32", (), {"__module__": "numpy", "__float__": lambda self: 2.0 * x})()


def tensor(x):
    return type("Tensor", (), {"__module__": "torch", "tolist": lambda self: 2.0 * x})()


def without_a_repr(x):
    return type("Fraction", (), {"__repr__": lambda self: 1 / 0})()


def much_text(x):
    return ["spam" * 250] * 20_000


def itself(x):
    endless = []
    endless.append(endless)
    return endless


def too_long(x):
    return [0.0] * 300_000


# --- that return the right answer, and do something besides ---


def prints(x):
    print("spam" * 1_000_000)
    return 2.0 * x


def closes_the_standard_streams(x):
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()
    return 2.0 * x


def leaves_a_thread(x):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return 2.0 * x


def leaves_a_process(x):
    note(subprocess.Popen(["sleep", "60"]).pid)
    return 2.0 * x


def leaves_a_process_of_another_session(x):
    note(subprocess.Popen(["sleep", "60"], start_new_session=True).pid)
    return 2.0 * x


def leaves_a_process_without_an_environment(x):
    note(subprocess.Popen(["sleep", "60"], start_new_session=True, env={}).pid)
    return 2.0 * x


def leaves_folders_in_folders(x):
    if x == 2.0:
        here = os.getcwd()
        for _ in range(1100):
            os.mkdir("folder")
            os.chdir("folder")
        os.chdir(here)
    return 2.0 * x


def leaves_a_link_for_its_folder(x):
    if x == 2.0:
        here = os.getcwd()
        os.chdir("/")
        os.rmdir(here)
        os.symlink(os.path.dirname(__file__), here)
    return 2.0 * x


def leaves_an_orphan(x):
    middle = os.fork()
    if middle == 0:
        os.setsid()
        orphan = os.fork()
        if orphan:
            note(orphan)
            os._exit(0)
        time.sleep(60)
    os.waitpid(middle, 0)
    return 2.0 * x


def forks(x):
    os.fork()
    return 2.0 * x


def prints_fake_answers(x):
    for fake in ('{"answer": 1e9, "changed": false}\n', "\n", '{"raised": ["E", "", null]}\n', "no end of a line"):
        print(fake, end="", flush=True)
        for descriptor in range(1, 20):
            with contextlib.suppress(OSError):  # not open, or not for writing
                os.write(descriptor, fake.encode())
    return 2.0 * x


def patches_everything(x):
    for name in ("len", "repr", "isinstance", "type", "str", "dict", "list", "map", "print", "eval"):
        setattr(builtins, name, None)
    math.log = math.exp = json.dumps = json.loads = os.read = os.write = os._exit = sys.exit = None
    sys.modules.clear()
    sys.setrecursionlimit(100)
    return 2.0 * x


def changes_its_argument(rows):
    rows[0] = 2.0 * rows[0]
    return rows[0]


def spoils_the_channel(x):
    for descriptor in range(3, 12):
        with contextlib.suppress(OSError):
            os.set_blocking(descriptor, False)
    return 2.0 * x


def takes_a_square_root(x):
    return math.sqrt(4.0 * x * x)
