"""Draws the measurements of `budgets --series`: pictures.py SERIES.csv FOLDER."""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
# Text stays text, and equal numbers give equal files.
matplotlib.rcParams.update(
    {"svg.fonttype": "none", "svg.hashsalt": "properations", "font.family": "sans-serif"}
)
import matplotlib.pyplot as plt

PICTURES = {
    "chain": (
        "chain-length",
        "The price of a link, by the length of the chain",
        "links in the chain",
    ),
    "pending": (
        "pending",
        "The price of a closure on a queue, by what else waits",
        "others that are pending",
    ),
}

# Our series comes first, in colour; the others are grey and differ in shade and marker.
STYLES = {
    "Properations": dict(color="#d9480f", marker="o", linewidth=2),
    "Properations (inline)": dict(color="#d9480f", marker="o", linewidth=2),
    "Properations (on an operation queue)": dict(color="#f08c00", marker="s", linewidth=2),
    "NIO (on its own loop)": dict(color="#868e96", marker="^"),
    "OperationQueue": dict(color="#343a40", marker="D"),
    "OperationQueue with dependencies": dict(color="#343a40", marker="D"),
}


def read(path):
    points = defaultdict(lambda: defaultdict(list))
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            points[row["picture"]][row["series"]].append(
                (int(row["x"]), float(row["nanoseconds"]) / 1000)
            )
    return points


def draw(series, title, label, path):
    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    for name, points in series.items():
        axes.plot(*zip(*sorted(points)), label=name, markersize=5, **STYLES[name])
    axes.set(xscale="log", yscale="log", title=title, xlabel=label, ylabel="microseconds each")
    axes.grid(True, which="major", color="#dee2e6", linewidth=0.7)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    # A white background, because the page may be dark.
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


def main():
    source, folder = sys.argv[1], Path(sys.argv[2])
    points = read(source)
    for picture, (name, title, label) in PICTURES.items():
        draw(points[picture], title, label, folder / f"{name}.svg")


main()
