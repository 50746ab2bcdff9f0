"""The table of docs/kits.md that says where names differ: each kit has the names of its column.

    names.py
"""

import glob
import os
import re
import sys

import pages

PAGE = "docs/kits.md"
# Each kit's files with public names, and the pattern of a declaration.
KITS = {
    "Swift": ("Sources/UnderstudyClient/**/*.swift", r"\bpublic (?:static )?(?:struct|func|var|let) {name}\b|\b{name} \w+: String"),
    "Python": ("Clients/python/src/understudy_client/*.py", r"\b(?:class|def) {name}\b|^\s+(?:self\.)?{name}(?:: | = )"),
    "JavaScript": ("Clients/javascript/src/*.d.ts", r"\b(?:class|readonly) {name}\b|^\s+(?:static )?{name}[?]?[(:]"),
}


def names(cell):
    """Returns the names in a cell: for `accounts["ada"]` and `now()` the part before the bracket, for `accounts.get`
    both."""
    codes = [code for code in re.findall(r"`([^`]+)`", cell) if "=" not in code]
    return [part for code in codes for part in re.match(r"[\w.]+", code)[0].split(".")]


def table():
    """Returns the rows of the second table, each a dictionary by the headings."""
    rows = [row.splitlines() for row in re.findall(r"(?:^\|.*\n?)+", pages.read(PAGE), re.MULTILINE)][1]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    return [dict(zip(cells[0], row)) for row in cells[2:]]


def main():
    missing = []
    for kit, (pattern, declared) in KITS.items():
        files = glob.glob(os.path.join(pages.ROOT, pattern), recursive=True)
        source = "\n".join(open(file, encoding="utf-8").read() for file in files)
        for row in table():
            missing += [f"{kit}: {name}" for name in names(row[kit])
                        if not re.search(declared.format(name=name), source, re.MULTILINE)]
    if missing:
        sys.exit(f"{PAGE}: no such names: {', '.join(missing)}")
    print(f"{PAGE}: every name of {len(table())} rows is declared")


main()
