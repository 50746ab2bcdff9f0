"""The bases of containers, which replace images from a registry."""

import os
import shutil
import subprocess
from pathlib import Path

from engine import Base, Container


def lent():
    """Returns the toolchain's folder, and the folders from which this machine's git takes packages, if it has any."""
    toolchain = Path(shutil.which("swift")).resolve().parents[2]
    binds = [(toolchain, str(toolchain), "ro")]
    urls = subprocess.run(
        ["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], capture_output=True, text=True).stdout
    folders = {line.split()[0].removeprefix("url.").removesuffix(".insteadof") for line in urls.splitlines()}
    return toolchain, binds + [(folder, folder, "ro") for folder in sorted(folders) if os.path.isdir(folder)]


def swift(workshop):
    """Makes the base that replaces the image swift: a Debian with a toolchain, and with that image's packages."""
    toolchain, binds = lent()
    root = debian(
        workshop,
        "binutils ca-certificates git libc6-dev libcurl4-openssl-dev libedit2 libgcc-12-dev libncurses-dev libpython3-dev"
        " libsqlite3-0 libstdc++-12-dev libxml2-dev libz3-dev pkg-config tzdata zlib1g-dev")
    for name in os.listdir(toolchain / "usr/bin"):
        place = root / "usr/local/bin" / name
        if not (root / "usr/bin" / name).exists() and not place.exists():
            place.symlink_to(toolchain / "usr/bin" / name)
    if os.path.exists("/etc/gitconfig"):
        shutil.copy("/etc/gitconfig", root / "etc/gitconfig")
        if os.path.exists("/etc/gitignore"):
            shutil.copy("/etc/gitignore", root / "etc/gitignore")
    return Base(root, binds)


def debian(workshop, packages, afterwards="true"):
    """Makes a Debian with packages. It replaces an image that can't be downloaded in the test's network."""
    root = workshop.root()
    code, said = Container(
        root, ["sh", "-c", f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {packages} && {afterwards}"],
        env={"DEBIAN_FRONTEND": "noninteractive"}).wait()
    assert code == 0, said
    return root


def python(workshop):
    """requests is there already, since the network of the test has no registry, and pip may leave it as it is."""
    return debian(workshop, "python3-pip python3-requests python-is-python3", "rm -f /usr/lib/python3*/EXTERNALLY-MANAGED")
