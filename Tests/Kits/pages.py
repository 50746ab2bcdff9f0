"""Functions that read examples from pages of the documentation."""

import os
import re
import shutil

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, ".build", "kits")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def blocks(text, language):
    """Returns all code blocks of a language, in order."""
    return [block[2] for block in _BLOCK.finditer(text) if block[1] == language]


def the_block(page, language):
    """Returns a page's only code block of a language."""
    found = blocks(read(page), language)
    if len(found) != 1:
        raise SystemExit(f"{page} has {len(found)} blocks of {language}, expected one")
    return found[0]


def fresh(name):
    """Makes an empty folder."""
    folder = os.path.join(BUILD, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
