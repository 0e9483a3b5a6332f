"""Runs a notebook without Jupyter: its cells in order, its figures into a folder.

python run.py routes.ipynb FOLDER
"""

import json
import os
import sys
from pathlib import Path

import matplotlib


def main(notebook: Path, folder: Path) -> None:
    """Runs every cell of code in one namespace; an exception ends it."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    # A notebook finds its files beside itself.
    os.chdir(notebook.parent)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec")
            exec(code, namespace)
    for number in plt.get_fignums():
        path = folder / f"figure-{number}.png"
        plt.figure(number).savefig(path, dpi=120)
        print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: run.py NOTEBOOK FOLDER")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
