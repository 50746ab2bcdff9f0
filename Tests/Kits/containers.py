"""The examples of docs/containers.md, as they stand there: Go and Node run with stand-ins for Testcontainers, which start BINARY
without a container; Java is compiled with declarations; Python's types are checked against the library.

    containers.py BINARY
"""

import os
import re
import shutil
import subprocess
import sys

import pages

PAGE = "docs/containers.md"
HERE = os.path.join(pages.ROOT, "Tests", "Kits", "containers")


def call(*command, folder, **environment):
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def expect(pattern, printed):
    if not re.search(pattern, printed, re.MULTILINE):
        sys.exit(f"expected {pattern} in\n{printed}")


def go(binary):
    folder = pages.fresh("containers-go")
    shutil.copytree(os.path.join(HERE, "go"), os.path.join(folder, "testcontainers-go"))
    pages.write(folder, "go.mod", (
        "module shop\n\ngo 1.19\n\nrequire github.com/testcontainers/testcontainers-go v0.0.0\n\n"
        "replace github.com/testcontainers/testcontainers-go => ./testcontainers-go\n"))
    pages.write(folder, "shop_test.go", pages.the_block(PAGE, "go"))
    offline = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GO111MODULE": "on", "UNDERSTUDY_BINARY": binary}
    if call("gofmt", "-l", "shop_test.go", folder=folder):
        sys.exit(f"the Go example of {PAGE} isn't formatted by gofmt")
    call("go", "vet", "./...", folder=folder, **offline)
    expect(r"^--- PASS: TestCancel", call("go", "test", "-v", "-count=1", "./...", folder=folder, **offline))


def node(binary):
    folder = pages.fresh("containers-node")
    modules = os.path.join(folder, "node_modules")
    os.makedirs(os.path.join(modules, "@understudy"))
    os.symlink(os.path.join(pages.ROOT, "Clients", "javascript"), os.path.join(modules, "@understudy", "client"))
    shutil.copytree(os.path.join(HERE, "node"), os.path.join(modules, "testcontainers"))
    pages.write(folder, "sign-in.test.mjs", pages.the_block(PAGE, "js"))
    expect(r"pass 1$", call("node", "--test", "sign-in.test.mjs", folder=folder, UNDERSTUDY_BINARY=binary))


def java():
    if shutil.which("javac") is None:
        print("containers: there is no javac: the Java example isn't compiled")
        return
    folder = pages.fresh("containers-java")
    declarations = pages.read(os.path.join(HERE, "java", "stand-ins.txt")).split("--- ")[1:]
    sources = [pages.write(folder, *one.split("\n", 1)) for one in declarations]
    sources.append(pages.write(folder, "SignInTest.java", pages.the_block(PAGE, "java")))
    call("javac", "-Xlint:all", "-Werror", "-d", "classes", *sources, folder=folder)


def python():
    folder = pages.fresh("containers-python")
    venv = os.path.join(pages.BUILD, "containers-venv")
    interpreter = os.path.join(venv, "bin", "python")
    if not os.path.exists(interpreter):
        call("python3", "-m", "venv", venv, folder=folder)
        call(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "testcontainers==4.*", "mypy==2.*",
             "pytest", folder=folder)
    pages.write(folder, "conftest.py", pages.the_block(PAGE, "python"))
    kit = os.path.join(pages.ROOT, "Clients", "python", "src")
    expect("Success", call(interpreter, "-m", "mypy", "--strict", "conftest.py", folder=folder, MYPYPATH=kit))


def main():
    binary = os.path.realpath(sys.argv[1])
    go(binary)
    node(binary)
    java()
    python()
    print("docs/containers.md: Go and Node run, Java compiles, Python's types fit")


main()
