"""Compares BuildGraph with its peers: buildgraph.py BUILDGRAPH FLOOR FOLDER [--rounds N]."""

import argparse
import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

JOBS = 2
failures = []


def check(condition, text):
    """Records a failure and continues."""
    if not condition:
        failures.append(text)
        print(f"WRONG: {text}")


def run(command, folder, limit=None, output=subprocess.DEVNULL):
    """Runs a program; returns its time, its processor time with its children's, and its memory.

    The program inherits only three files. Foundation closes every number up to the highest
    open one, which would distort the floor.
    """

    def limited():
        if limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    begin = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, stdout=output, stdin=subprocess.DEVNULL, preexec_fn=limited
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "code": process.returncode,
        "wall": time.monotonic() - begin,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss,
    }


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def sums(folder, pattern):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob(pattern)
    }


def trivial(folder, count):
    """Makes targets whose command is `true`, for all three programs."""
    names = [f"t{i}" for i in range(count)]
    (folder / "Buildfile").write_text(
        f"all: {' '.join(names)}\n" + "".join(f"{n}:\n    true\n" for n in names)
    )
    (folder / "Makefile").write_text(
        f".PHONY: all {' '.join(names)}\nall: {' '.join(names)}\n"
        + "".join(f"{n}:\n\t@true\n" for n in names)
    )
    (folder / "build.ninja").write_text(
        "rule t\n  command = true\n" + "".join(f"build {n}: t\n" for n in names)
    )
    return folder


def sources(folder, count):
    """Makes C files, a third of them with a header, and a program, for all three programs."""
    names = [f"f{i}" for i in range(count)]
    (folder / "common.h").write_text("#define BASE 1\n")
    for i, name in enumerate(names):
        include = '#include "common.h"\n' if i % 3 == 0 else "#define BASE 1\n"
        (folder / f"{name}.c").write_text(
            include + "#include <stdio.h>\n#include <string.h>\n"
            f"int {name}(int x) {{ return x * {i} + BASE; }}\n"
        )
    calls = "".join(f"int {n}(int);\n" for n in names)
    total = " + ".join(f"{n}(1)" for n in names)
    (folder / "main.c").write_text(
        f'{calls}#include <stdio.h>\nint main(void) {{ printf("%d\\n", {total}); return 0; }}\n'
    )
    names.append("main")
    objects = " ".join(f"{n}.o" for n in names)
    (folder / "Buildfile").write_text(
        f"program: {objects}\n    gcc -o program {objects}\n"
        + "".join(f"{n}.o: {n}.c @{n}.d\n    gcc -O1 -MMD -c {n}.c\n" for n in names)
        + ".default: program\n"
    )
    (folder / "Makefile").write_text(
        f"program: {objects}\n\t@gcc -o program {objects}\n"
        + "".join(f"{n}.o: {n}.c\n\t@gcc -O1 -MMD -c {n}.c\n" for n in names)
        + "-include *.d\n"
    )
    (folder / "build.ninja").write_text(
        "rule cc\n  command = gcc -O1 -MMD -c $in\n  depfile = $stem.d\n"
        "rule link\n  command = gcc -o program $in\n"
        + "".join(f"build {n}.o: cc {n}.c\n  stem = {n}\n" for n in names)
        + f"build program: link {objects}\n"
    )
    return folder


def clean(folder):
    for path in folder.iterdir():
        if path.suffix in (".o", ".d") or path.name in (
            "program", ".Buildfile.state", ".ninja_log", ".ninja_deps"
        ):
            path.unlink()


def system_calls(command, folder, counts):
    """Counts the system calls of a program and its children."""
    subprocess.run(
        ["strace", "-f", "-c", "-o", counts, *command], cwd=folder, check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return int(counts.read_text().splitlines()[-1].split()[3])


def rounds(count, contestants):
    """Runs all contestants in turn; returns the measurements of each."""
    results = {name: [] for name in contestants}
    for _ in range(count):
        for name, contest in contestants.items():
            results[name].append(contest())
    return results


def row(what, results, reference, budget=None):
    """Prints a line for each contestant; the ratio is the median over the rounds."""
    ratios = {}
    for name, runs in results.items():
        pairs = list(zip(runs, results[reference]))
        wall = statistics.median(a["wall"] / b["wall"] for a, b in pairs)
        cpu = statistics.median(a["cpu"] / b["cpu"] for a, b in pairs)
        ratios[name] = wall
        print(
            f"| {what:<34} | {name:<12} | {statistics.median(a['wall'] for a in runs):8.3f} s "
            f"| {statistics.median(a['cpu'] for a in runs):8.3f} s | {wall:6.2f} | {cpu:6.2f} |"
        )
        check(all(a["code"] == 0 for a in runs), f"{what}: {name} has failed")
    return ratios


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("buildgraph")
    parser.add_argument("floor")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="leave the large trees out")
    options = parser.parse_args()
    build = [os.path.abspath(options.buildgraph), "-q", f"-j{JOBS}"]
    floor = os.path.abspath(options.floor)
    make, ninja = ["make", "-s", f"-j{JOBS}"], ["ninja", "--quiet", f"-j{JOBS}"]

    print(f"| {'What':<34} | {'Program':<12} | {'Time':>10} | {'Processors':>10} | Ratio  | (CPU)  |")
    print(f"|{'-' * 36}|{'-' * 14}|{'-' * 12}|{'-' * 12}|{'-' * 8}|{'-' * 8}|")

    # Launching.
    tree = trivial(fresh(options.folder / "true"), 2000)

    def anew(command):
        def contest():
            clean(tree)
            return run(command, tree)

        return contest

    ratios = row(
        "2,000 targets of true",
        rounds(options.rounds, {
            "make": anew(make), "ninja": anew(ninja), "Process": anew([floor, "2000", str(JOBS)]),
            "BuildGraph": anew(build),
        }),
        "make",
    )
    allowed = max(1.3, 1.2 * ratios["Process"])
    check(ratios["BuildGraph"] <= allowed, "2,000 targets: over 1.3x make and 1.2x bare Process")
    clean(tree)
    text = tree / "said"
    with open(text, "w") as output:
        run([build[0]], tree, limit=1024, output=output)
    check(
        "2000 built, 0 up to date, 0 failed, 0 not run" in text.read_text(),
        "with 1,024 open files at most all 2,000 targets should have been built",
    )

    # Compiling.
    tree = sources(fresh(options.folder / "gcc"), 200)
    made = {}

    def compiling(command, name):
        def contest():
            clean(tree)
            result = run(command, tree)
            made[name] = sums(tree, "*.o"), subprocess.run(
                [tree / "program"], capture_output=True).stdout
            return result

        return contest

    ratios = row(
        "200 gcc targets and a program",
        rounds(max(3, options.rounds // 2), {
            "make": compiling(make, "make"), "ninja": compiling(ninja, "ninja"),
            "BuildGraph": compiling(build, "BuildGraph"),
        }),
        "make",
    )
    check(ratios["BuildGraph"] <= 1.1, "200 gcc targets: over 1.1x make")
    check(made["make"] == made["ninja"] == made["BuildGraph"], "the programs have made other files")

    # Each program first builds the targets that it does not know, and then nothing more.
    for command in (make, ninja, build, make, ninja):
        run(command, tree)
    row(
        "the same, all up to date",
        rounds(options.rounds, {
            "make": lambda: run(make, tree), "ninja": lambda: run(ninja, tree),
            "BuildGraph": lambda: run(build, tree),
        }),
        "make",
    )

    # After a change of a header, the same files must be built again.
    again = {}
    for name, command in {"make": make, "BuildGraph": build}.items():
        clean(tree)
        (tree / "common.h").write_text("#define BASE 1\n")
        run(command, tree)
        before = {path.name: path.stat().st_mtime_ns for path in tree.glob("*.o")}
        time.sleep(0.05)
        (tree / "common.h").write_text("#define BASE 2\n")
        run(command, tree)
        again[name] = {
            path.name for path in tree.glob("*.o") if path.stat().st_mtime_ns != before[path.name]
        }
    check(again["make"] == again["BuildGraph"], "a changed header: other files were made again")
    check(len(again["make"]) == 67, "a changed header: not the 67 files that include it")

    # Output.
    tree = fresh(options.folder / "output")
    (tree / "Buildfile").write_text("a:\n    yes 0123456789 | head -c 300000000\n")
    with open(tree / "said", "w") as output:
        result = run([build[0]], tree, output=output)
    with open(tree / "said") as said:
        lines = sum(1 for line in said if line == "    | 0123456789\n")
    check(lines == 300_000_000 // 11, "300 MB of output: lines are missing")
    check(result["memory"] < 100_000, "300 MB of output: over 100 MB of memory")
    print(f"300 MB of output: {result['wall']:.2f} s, {result['memory'] / 1000:.0f} MB of memory")
    shutil.rmtree(tree)

    # Growth.
    if not options.quick:
        tree = trivial(fresh(options.folder / "many"), 20_000)
        small = trivial(fresh(options.folder / "few"), 2_000)

        def counted(folder, command):
            def contest():
                clean(folder)
                return run(command, folder)

            return contest

        results = rounds(3, {
            "make": counted(tree, make), "BuildGraph": counted(tree, build),
            "a tenth": counted(small, build),
        })
        row("20,000 targets of true", results, "make")
        growth = statistics.median(
            a["cpu"] / b["cpu"] / 10 for a, b in zip(results["BuildGraph"], results["a tenth"]))
        print(f"A target of 20,000 takes {growth:.2f} times the processor time of one of 2,000.")
        check(growth < 1.3, "20,000 targets: not flat per target")

        # The same counted: for n and 4n targets, first to build and then up to date.
        calls = {}
        for size in (500, 2000):
            tree = trivial(fresh(options.folder / f"counted-{size}"), size)
            counts = options.folder / f"counted-{size}.txt"
            calls[size] = [system_calls(build, tree, counts) for _ in range(2)]
        for what, few, many in zip(("to build", "up to date"), calls[500], calls[2000]):
            print(
                f"2,000 targets {what}: {many / few:.2f} times the system calls of 500 "
                f"({many / 2000:.1f} per target).")
            check(many / few < 4.4, f"2,000 targets {what}: system calls grow faster")

    print("Everything as it should be." if not failures else f"{len(failures)} wrong.")
    sys.exit(1 if failures else 0)


main()
