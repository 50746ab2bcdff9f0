"""The columns of docs/kits.md, each as the program that it is, on a daemon of BINARY: before its last line, all must have done the
same to their worlds, and after it the worlds must be gone.

    table.py BINARY [COLUMN...]
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pages

PAGE = "docs/kits.md"
MARK = "-- before the last line --"


def columns():
    """Returns the programs of the page's first table, by their headings. Each is a list of lines."""
    rows = re.search(r"(?:^\|.*\n)+", pages.read(PAGE), re.MULTILINE)[0].splitlines()
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    names, body = cells[0][1:], cells[2:]
    for row in body:
        if len(row) != len(names) + 1 or not all(re.fullmatch(r"`[^`]+`", cell) for cell in row[1:]):
            sys.exit(f"{PAGE}: every cell is one line of code: {row}")
    return {name: [row[place + 1].strip("`") for row in body] for place, name in enumerate(names)}


def with_pause(lines, mark, wait):
    """Returns the program changed so that before its last line it prints a mark, and waits for a line of input."""
    return "\n".join([*lines[:-1], mark, wait, lines[-1], ""])


# For each column, this prepares the program and returns the command that starts it.

def curl(folder, lines):
    return ["bash", "-eu", pages.write(folder, "program.sh", with_pause(lines, f"echo; echo '{MARK}'", "read -r line"))], {}


def python(folder, lines):
    path = pages.write(folder, "program.py", with_pause(lines, f"print('{MARK}', flush=True)", "input()"))
    return ["python3", path], {"PYTHONPATH": os.path.join(pages.ROOT, "Clients", "python", "src")}


def javascript(folder, lines):
    modules = os.path.join(folder, "node_modules", "@understudy")
    os.makedirs(modules)
    os.symlink(os.path.join(pages.ROOT, "Clients", "javascript"), os.path.join(modules, "client"))
    wait = "; (await import('node:fs')).readSync(0, new Uint8Array(1))"
    return ["node", pages.write(folder, "program.mjs", with_pause(lines, f"console.log('{MARK}')", wait))], {}


def swift(folder, lines):
    """Compiles only `UnderstudyClient`, since it needs no other target of this package."""
    sources = os.path.join(pages.ROOT, "Sources", "UnderstudyClient")
    client = [os.path.join(place, file) for place, _, files in os.walk(sources) for file in files if file.endswith(".swift")]
    pages.write(folder, "main.swift", with_pause(lines, f'print("{MARK}"); flush()', "_ = readLine()"))
    pages.write(folder, "Flush.swift", "import Foundation\n\nfunc flush() { fflush(nil) }\n")
    compiler = ["swiftc", "-swift-version", "6", "-package-name", "understudy"]
    for command in (
        [*compiler, "-parse-as-library", "-emit-module", "-emit-library", "-static", "-module-name", "UnderstudyClient",
         "-o", "libUnderstudyClient.a", *client],
        [*compiler, "-I.", "-L.", "-lUnderstudyClient", "main.swift", "Flush.swift", "-o", "Program"],
    ):
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        if done.returncode != 0:
            sys.exit(f"the Swift column of {PAGE} doesn't compile:\n{done.stdout}")
    return [os.path.join(folder, "Program")], {}


COLUMNS = {"curl": curl, "Swift": swift, "Python": python, "JavaScript": javascript}


def get(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def claims(token):
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def left(url, world):
    """Returns what a program has left in its world."""
    control = f"{url}/~{world}/_understudy/v1"
    ahead = get(f"{control}/clock")["milliseconds"] - get(f"{url}/_understudy/v1/clock")["milliseconds"]
    requests = [one for one in get(f"{control}/requests")["requests"] if one["path"].endswith("/apple/authorizations")]
    sign_in = json.loads(requests[0]["response"]["body"])
    nonce = claims(sign_in["identityToken"])["nonce"]
    mail = get(f"{control}/mail")["messages"]
    return {
        "outcomes": [(one["provider"], one["outcome"]) for one in get(f"{control}/outcomes")["outcomes"]],
        "faults": [(one["match"], one["effect"], one["times"], one["seen"]) for one in get(f"{control}/faults")["faults"]],
        # The time is left out, since the other clock is read later.
        "six minutes": 300_000 < ahead <= 360_000,
        "max": get(f"{control}/accounts/max")["email"],
        "mail": [(one["to"], one["codes"]) for one in mail],
        "sign-ins": [(one["status"], one["client"]) for one in requests],
        "somebody hides": sign_in["email"].endswith("@privaterelay.appleid.com"),
        "nonce": len(nonce) == len(hashlib.sha256().hexdigest()) and set(nonce) <= set("0123456789abcdef"),
    }


def run(name, lines, url):
    """Runs a column's program, and returns what it has left before its last line."""
    world = f"in-{name.lower()}"
    folder = pages.fresh(f"table-{name.lower()}")
    command, variables = COLUMNS[name](folder, lines)
    program = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **variables, "UNDERSTUDY_URL": url}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    printed = []
    for line in program.stdout:
        printed.append(line)
        if line.strip() == MARK:
            break
    else:
        sys.exit(f"the column {name} of {PAGE} exited with {program.wait()}:\n{''.join(printed)}")
    found = left(url, world)
    rest, _ = program.communicate("\n")
    if program.returncode != 0:
        sys.exit(f"the last line of the column {name} of {PAGE} exited with {program.returncode}:\n{rest}")
    if world in [one["name"] for one in get(f"{url}/_understudy/v1/worlds")["worlds"]]:
        sys.exit(f"the column {name} of {PAGE} doesn't delete its world")
    return found


EXPECTED = {
    "outcomes": [("github", "cancel")],
    "faults": [({"host": "appleid.apple.com", "path": "/auth/keys"}, {"status": 503}, 2, 0)],
    "six minutes": True,
    "max": "max@example.org",
    "mail": [("max@example.org", ["123456"])],
    "sign-ins": [(200, "com.example.app")],
    "somebody hides": True,
    "nonce": True,
}


def main():
    binary, wanted = os.path.realpath(sys.argv[1]), sys.argv[2:]
    programs = columns()
    if list(programs) != list(COLUMNS):
        sys.exit(f"{PAGE} has the columns {list(programs)}, expected {list(COLUMNS)}")
    daemon = subprocess.Popen(
        [binary, "serve", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        encoding="utf-8")
    try:
        url = daemon.stdout.readline().split()[-1]
        for name in wanted or programs:
            found = run(name, programs[name], url)
            if found != EXPECTED:
                sys.exit(f"the column {name} of {PAGE} has left\n{found}\nexpected\n{EXPECTED}")
            print(f"{PAGE}: {name} passed", flush=True)
    finally:
        daemon.terminate()
        daemon.wait()


main()
