"""The little of a container engine that this project's Dockerfile and docker-compose.yml ask for, for machines without one.

A root file system is debootstrap's, a RUN is a chroot, a container is a few namespaces, and a network is a bridge that has
no way out. What isn't known here fails, so that neither file can grow a line that nobody has tried.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
RELEASE = "bookworm"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NODES = ["null", "zero", "full", "random", "urandom", "tty"]


def run(*command, **options):
    """Runs a command quietly, and shows its output if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{shlex.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def mirror():
    """Returns the mirror from which this machine gets Debian: DEBIAN_MIRROR, or the one in its package sources.
    https://manpages.debian.org/bookworm/apt/sources.list.5.en.html"""
    if "DEBIAN_MIRROR" in os.environ:
        return os.environ["DEBIAN_MIRROR"]
    for file in sorted(Path("/etc/apt").glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", file.read_text()):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            is_enabled = fields.get("Enabled", "yes").lower() not in ("no", "false")
            if is_enabled and "deb" in fields.get("Types", "").split() and RELEASE in fields.get("Suites", "").split():
                return fields["URIs"].split()[0]
    for file in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt").glob("sources.list.d/*.list"))]:
        for line in file.read_text().splitlines() if file.exists() else []:
            words = re.sub(r"\[[^]]*\]", "", line).split()
            if len(words) > 3 and words[0] == "deb" and words[2] == RELEASE:
                return words[1]
    raise SystemExit(f"no package source of this machine has Debian's {RELEASE}: set DEBIAN_MIRROR")


class Workshop(contextlib.ExitStack):
    """A folder for everything that is made. At the end it is removed, with everything that was mounted and started."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="container-"))
        self.folder.chmod(0o755)
        self.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.count = 0

    def root(self, base=None):
        """Makes a root file system with Debian, or a copy of another one."""
        self.count += 1
        root = self.folder / f"root-{self.count}"
        run("cp", "-a", "--reflink=auto", base or self.debian(), root)
        return root

    def debian(self):
        """Debian 12 as debootstrap leaves it: made once, and kept beside the build."""
        kept = PROJECT / ".build/container" / RELEASE
        if not (kept / "made").exists():
            shutil.rmtree(kept, ignore_errors=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            run("debootstrap", "--variant=minbase", RELEASE, kept, mirror())
            # The container gets this machine's settings for reaching its mirrors.
            shutil.copy("/etc/resolv.conf", kept / "etc/resolv.conf")
            for file in Path("/etc/apt/apt.conf.d").glob("*"):
                if not (kept / "etc/apt/apt.conf.d" / file.name).exists():
                    shutil.copy(file, kept / "etc/apt/apt.conf.d")
            (kept / "made").touch()
        return kept


class Container:
    """A process in a root of its own, with its own mounts and processes."""

    def __init__(self, root, command, *, user="root", env=None, directory="/", binds=(), network=None,
                 read_only=False, bounding=None, no_new_privileges=False, hosts="", output=None):
        groups = [line.split(":") for line in (root / "etc/passwd").read_text().splitlines()]
        uid, gid = next((fields[2], fields[3]) for fields in groups if fields[0] == user)
        mounts = ["set -e", "mount --make-rprivate /", f"mount --bind {root} {root}"]
        for source, target, mode in binds:
            place = root / target.lstrip("/")
            if Path(source).is_dir():
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
            mounts.append(f"mount --bind {shlex.quote(str(source))} {place}")
            if mode == "ro":
                mounts.append(f"mount -o remount,bind,ro {place}")
        mounts += [f"mount -t proc proc {root}/proc", f"mount -t tmpfs -o mode=755 tmpfs {root}/dev"]
        for node in NODES:
            mounts += [f"touch {root}/dev/{node}", f"mount --bind /dev/{node} {root}/dev/{node}"]
        mounts += [f"mkdir -m 1777 {root}/dev/shm", f"ln -s /proc/self/fd {root}/dev/fd"]
        file = root.with_suffix(".hosts")
        file.write_text(f"127.0.0.1 localhost {os.uname().nodename}\n::1 localhost\n{hosts}")
        (root / "etc/hosts").touch()
        mounts.append(f"mount --bind {file} {root}/etc/hosts")
        if read_only:
            mounts.append(f"mount -o remount,bind,ro {root}")
        privileges = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        if bounding is not None:
            kept = "".join(f",+{name.lower()}" for name in bounding)
            privileges += [f"--bounding-set=-all{kept}", f"--inh-caps=-all{kept}"]
        if no_new_privileges:
            privileges.append("--no-new-privs")
        variables = {"PATH": PATH, "HOME": "/root" if user == "root" else "/", **(env or {})}
        inside = [
            "chroot", str(root), *privileges, "env", "-i", *[f"{k}={v}" for k, v in variables.items()],
            "/bin/sh", "-c", 'cd "$0" && exec "$@"', directory, *command]
        script = "\n".join(mounts) + "\nexec " + shlex.join(inside)
        prefix = ["ip", "netns", "exec", network] if network else []
        self.process = subprocess.Popen(
            [*prefix, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script],
            stdout=output or subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.settings = dict(
            user=user, env=env, directory=directory, binds=binds, network=network, hosts=hosts)
        self.root = root

    def wait(self, timeout=None):
        """Waits for the end. Returns the exit code and the output."""
        said, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, said

    def stop(self):
        """Sends SIGTERM to the container's first process. Returns the exit code and the output."""
        os.kill(self.children()[0], signal.SIGTERM)
        return self.wait(timeout=300)

    def children(self):
        """Returns the process ID, on this machine, of the container's first process, or nothing if it has ended."""
        place = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in place.read_text().split()] if place.exists() else []

    def kill(self):
        # A process that has changed its user isn't ended together with `unshare`.
        for child in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def beside(self, command):
        """Runs another command in the same root and network, as a health check does. Returns its result."""
        return Container(self.root, command, **self.settings).wait(timeout=300)


class Dockerfile:
    """The instructions of a Dockerfile, and the images that its stages make."""

    def __init__(self, text, workshop, bases, said=print):
        joined = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text))
        self.lines = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
        self.workshop, self.bases, self.said = workshop, bases, said
        self.stages, self.arguments = {}, {}

    def build(self, products=None):
        """Builds the last stage's image. A stage whose products are given as a folder isn't built."""
        image, skips = None, False
        self.stages = {name: Base(folder) for name, folder in (products or {}).items()}
        for word, rest in self.lines:
            if word == "FROM":
                skips = rest.partition(" AS ")[2].strip() in self.stages
            if skips:
                continue
            self.said(f"     {word} {' '.join(rest.split())[:100]}")
            if word == "ARG":
                name, _, value = rest.partition("=")
                self.arguments[name] = value
            elif word == "FROM":
                name, _, stage = rest.partition(" AS ")
                for argument, value in self.arguments.items():
                    name = name.replace(f"${{{argument}}}", value)
                image = Image(self.workshop, self.bases[name](), self.stages)
                self.stages[stage.strip() or name] = image
            else:
                getattr(image, word.lower())(rest)
        return image


class Image:
    """A root, and how a container begins in it."""

    def __init__(self, workshop, base, stages):
        self.stages = stages
        self.root, self.binds = workshop.root(base.root), base.binds
        self.directory, self.account, self.variables = "/", "root", {}
        self.entry, self.command, self.health = [], [], None

    def run(self, rest):
        container = Container(
            self.root, ["/bin/sh", "-c", rest], user=self.account, directory=self.directory, env=self.variables,
            binds=self.binds)
        code, said = container.wait()
        if code:
            raise SystemExit(f"RUN {rest}: exit code {code}\n{said[-4000:]}")

    def workdir(self, rest):
        self.directory = rest
        (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def copy(self, rest):
        words = rest.split()
        source = PROJECT
        if words[0].startswith("--from="):
            source = self.stages[words.pop(0).removeprefix("--from=")].root
        *names, target = words
        place = Path(os.path.join(self.directory, target)).as_posix().lstrip("/")
        for name in names:
            found = source / name.lstrip("/")
            goal = self.root / place
            if found.is_dir():
                run("cp", "-a", "--no-preserve=ownership", f"{found}/.", self.made(goal))
            elif target.endswith("/"):
                run("cp", "-a", "--no-preserve=ownership", found, self.made(goal))
            else:
                self.made(goal.parent)
                run("cp", "-a", "--no-preserve=ownership", found, goal)

    @staticmethod
    def made(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def user(self, rest):
        self.account = rest

    def env(self, rest):
        self.variables.update(pair.split("=", 1) for pair in shlex.split(rest))

    def expose(self, rest):
        assert all(port.isdecimal() for port in rest.split()), rest

    def healthcheck(self, rest):
        options, _, command = rest.partition(" CMD ")
        values = dict(option.removeprefix("--").split("=") for option in options.split())
        self.health = {
            "interval": float(values.pop("interval").rstrip("s")), "retries": int(values.pop("retries")),
            "timeout": float(values.pop("timeout").rstrip("s")), "command": json.loads(command)}
        assert not values, values

    def entrypoint(self, rest):
        self.entry = json.loads(rest)

    def cmd(self, rest):
        self.command = json.loads(rest)


class Base:
    """The base of an image: a root, and the folders that are mounted in it while it is built."""

    def __init__(self, root, binds=()):
        self.root, self.binds = root, binds


class Network:
    """A bridge without a way out."""

    count = 0

    def __init__(self, workshop):
        Network.count += 1
        self.number = Network.count
        self.name = f"us{os.getpid() % 10000}-n{self.number}"
        self.addresses = 1
        namespace(workshop, self.name)
        run("ip", "-n", self.name, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", self.name, "link", "set", "bridge", "up")

    def join(self, name, device):
        """Connects a device of a namespace to the bridge, and returns its address."""
        self.addresses += 1
        address, port = f"10.77.{self.number}.{self.addresses}", f"port{self.addresses}"
        run("ip", "link", "add", port, "netns", self.name, "type", "veth", "peer", "name", device, "netns", name)
        run("ip", "-n", self.name, "link", "set", port, "master", "bridge", "up")
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", device)
        run("ip", "-n", name, "link", "set", device, "up")
        return address


def namespace(workshop, name):
    """Makes an empty network namespace, which is removed at the end."""
    run("ip", "netns", "add", name)
    workshop.callback(subprocess.run, ["ip", "netns", "del", name])
    run("ip", "-n", name, "link", "set", "lo", "up")


def healthy(container, health):
    """Returns whether the container becomes healthy by its image's own check."""
    for _ in range(health["retries"]):
        if container.beside(health["command"])[0] == 0:
            return True
        if container.process.poll() is not None:
            return False
        time.sleep(health["interval"])
    return False
