"""Runs the tools in turn: duplicates-and-ingest.py BIN WORK ROUNDS FILES TREE."""

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN, WORK, TREE = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[5])
ROUNDS, FILES = int(sys.argv[3]), int(sys.argv[4])


def generate(folder):
    """Makes small files in folders of 500; three of ten equal one of 20,000 others."""
    marker = folder / f".{FILES}"
    if marker.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    numbers = random.Random(7)
    pool = []
    for index in range(FILES):
        parent = folder / f"{index // 20000:03}" / f"{index // 500:04}"
        if index % 500 == 0:
            parent.mkdir(parents=True, exist_ok=True)
        if pool and numbers.random() < 0.3:
            content = numbers.choice(pool)
        else:
            content = numbers.randbytes(numbers.randint(1, 4096))
            if len(pool) < 20000:
                pool.append(content)
        (parent / f"f{index:06}").write_bytes(content)
    marker.touch()


def run(command, output):
    """Runs a command; returns its wall-clock time and processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with open(output, "wb") as file:
        process = subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Some peers exit with 1 if they must not read a file.
    if process.returncode not in (0, 1):
        sys.exit(f"{command[0]} has failed with {process.returncode}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used


def compare(title, commands, reference, prepare=lambda: None):
    """Runs all commands in turn, once without measuring, and prints a table.

    Returns the wall-clock time of each.
    """
    times = {name: [] for name in commands}
    for turn in range(ROUNDS + 1):
        for name, command in commands.items():
            prepare()
            taken = run(command, WORK / f"{name}.out")
            if turn > 0:
                times[name].append(taken)
    medians = {name: [statistics.median(t) for t in zip(*all)] for name, all in times.items()}
    print(f"\n{title}")
    print(f"  {'':24}{'wall':>8}{'ratio':>8}{'processor':>12}{'ratio':>8}")
    for name, (wall, used) in medians.items():
        base = medians[reference]
        print(f"  {name:24}{wall:8.2f}{wall / base[0]:8.2f}{used:12.2f}{used / base[1]:8.2f}")
    sys.stdout.flush()
    return {name: wall for name, (wall, _) in medians.items()}


def groups(parts, separator):
    """Returns groups of files. Hard links count as one file."""
    files = (
        frozenset((s.st_dev, s.st_ino) for s in map(os.lstat, part.split(separator)))
        for part in parts
        if part
    )
    return {group for group in files if len(group) > 1}


def check(what, holds):
    print(f"  {'ok  ' if holds else 'FAIL'}  {what}")
    if not holds:
        check.failed = True


check.failed = False


def budget(walls, name, limit, reference):
    """Checks that a command takes at most `limit` times as long as another one."""
    ratio = walls[name] / walls[reference]
    check(f"{name}: {ratio:.2f} times {reference}, at most {limit}", ratio <= limit)


def duplicates(title, tree):
    finder = str(BIN / "DuplicateFinder")
    walls = compare(
        f"{title}: {tree}",
        {
            "jdupes": ["jdupes", "-r", "-q", str(tree)],
            "DuplicateFinder": [finder, "-0", str(tree)],
            "DuplicateFinder, 64 open": [finder, "-0", "--open-files", "64", str(tree)],
            "fdupes": ["fdupes", "-r", "-q", "-n", str(tree)],
            "rdfind": [
                "rdfind", "-dryrun", "true", "-outputname", str(WORK / "rdfind.txt"), str(tree),
            ],
        },
        "jdupes",
    )
    budget(walls, "DuplicateFinder", 1.3, "jdupes")
    budget(walls, "DuplicateFinder, 64 open", 1.1, "DuplicateFinder")
    found = groups((WORK / "DuplicateFinder.out").read_bytes().split(b"\0\0"), b"\0")
    more = groups((WORK / "DuplicateFinder, 64 open.out").read_bytes().split(b"\0\0"), b"\0")
    check(f"64 open files find the same {len(found)} groups", bool(found) and found == more)
    # A line end in a name would confuse the peers' output; these names have none.
    for peer in ["jdupes", "fdupes"]:
        parts = (WORK / f"{peer}.out").read_bytes().strip(b"\n").split(b"\n\n")
        check(f"the groups are those of {peer}", found == groups(parts, b"\n"))
    names = {}
    for line in (WORK / "rdfind.txt").read_bytes().splitlines():
        if not line.startswith(b"#"):
            fields = line.split(b" ", 7)
            names.setdefault(abs(int(fields[1])), []).append(fields[7])
    theirs = groups((b"\n".join(group) for group in names.values()), b"\n")
    check("the groups are those of rdfind", found == theirs)


DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def ingest(title, tree, work, is_cold):
    """Compares MediaIngest, which writes below `work`, with sha256sum, which writes nothing.

    With `is_cold`, each command reads the tree, and itself, from the disk, as the first
    ingest of a tree does.
    """
    output = work / "ingested"
    earlier = work / "ingested-earlier"
    shutil.rmtree(output, ignore_errors=True)
    shutil.rmtree(earlier, ignore_errors=True)

    def prepare():
        if is_cold:
            # Not removed before the end: for half a minute after a removal, ext4 searches the
            # places of the removed files for each new file.
            earlier.mkdir(exist_ok=True)
            if output.exists():
                output.rename(earlier / str(time.monotonic_ns()))
            subprocess.run(["sync", "-f", str(work)])
            DROP_CACHES.write_text("3")
        else:
            shutil.rmtree(output, ignore_errors=True)

    def tool(jobs, target=output):
        return [str(BIN / "MediaIngest"), "--jobs", str(jobs), "--output", str(target), str(tree)]

    sums = "find \"$0\" -type f -not -path '*/.*' -print0 | xargs -0 -P2 -n 256 sha256sum"
    walls = compare(
        f"{title}: {tree}",
        {
            "sha256sum, 2 processes": ["bash", "-c", sums, str(tree)],
            "MediaIngest, 4 jobs": tool(4),
            "MediaIngest, 1 job": tool(1),
        },
        "sha256sum, 2 processes",
        prepare,
    )
    budget(walls, "MediaIngest, 4 jobs", 2, "sha256sum, 2 processes")
    if os.cpu_count() > 1:
        budget(walls, "MediaIngest, 4 jobs", 1.1, "MediaIngest, 1 job")
    expected = {}
    for line in (WORK / "sha256sum, 2 processes.out").read_bytes().splitlines():
        # A backslash at the beginning marks an escaped name.
        if not line.startswith(b"\\"):
            expected[os.fsdecode(line[66:])] = line[:64].decode()
    found = {}
    for folder, _, names in os.walk(output):
        for name in names:
            if name.endswith(".json"):
                sidecar = json.loads((Path(folder) / name).read_text())
                found[str(tree / sidecar["file"])] = sidecar["sha256"]
    check(f"{len(found)} checksums are those of sha256sum", bool(found) and all(
        expected.get(name, digest) == digest for name, digest in found.items()))
    check("no file is missing", set(expected) <= set(found))
    again = subprocess.run(tool(4), capture_output=True, text=True)
    check("a second run has nothing to do", " 0 written," in again.stdout)
    verified = subprocess.run([*tool(4), "--verify"], capture_output=True, text=True)
    check("all are verified", " 0 failed;" in verified.stdout)
    shutil.rmtree(output, ignore_errors=True)
    shutil.rmtree(earlier, ignore_errors=True)


small = WORK / "small"
generate(small)
duplicates("The tree of a system", TREE)
duplicates(f"{FILES} small files", small)
# The budget is for the first ingest of a tree. With a tree of small files in memory,
# creating a file for each costs the file system more than reading all of them; what the
# program itself costs then is seen in a file system in memory.
docs = TREE / "doc"
if os.access(DROP_CACHES, os.W_OK):
    ingest("Checksums of the documentation of a system, from the disk", docs, WORK, is_cold=True)
else:
    print("\nskipped: only root can empty the caches, to ingest a tree from the disk")
if os.path.isdir("/dev/shm"):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        ingest("The same in memory, sidecars included", docs, Path(memory), is_cold=False)
sys.exit(1 if check.failed else 0)
