"""The daemon under test: started on a port of its own, watched, and ended."""
import os
import signal
import subprocess
import tempfile

# Codes are drawn from a generator with a seed and time stands still, so that a finding can be repeated.
SEED = '{"randomSeed": "fuzz", "clock": {"set": "2030-01-01T00:00:00Z", "freeze": true}}'
NOW = 1893456000


class Daemon:
    def __init__(self, binary, root):
        self.folder = tempfile.mkdtemp(prefix="understudy-fuzz-")
        seed = os.path.join(self.folder, "fuzz.json")
        with open(seed, "w") as file:
            file.write(SEED)
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(
            [binary, "serve", "--port", "0", "--seed", os.path.join(root, "seed-data/default.json"), "--seed", seed],
            stdout=subprocess.PIPE, stderr=self.log,
            # If the daemon crashes, its stack goes to the log.
            env=os.environ | {"SWIFT_BACKTRACE": "enable=yes,color=no,limit=16,threads=crashed,images=none,registers=none,sanitize=yes"})
        line = self.process.stdout.readline().decode()
        if "listening on" not in line:
            raise SystemExit(f"the daemon doesn't start: {line}{self.last_words()}")
        self.port = int(line.split(" and ")[0].rsplit(":", 1)[1])

    @property
    def lives(self):
        return self.process.poll() is None

    @property
    def resident(self):
        """Returns the resident memory in megabytes."""
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) // 1024
        return 0

    def last_words(self):
        self.log.flush()
        with open(self.log.name, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 8000))
            text = file.read().decode("utf-8", "replace")
        crash = max(text.find("Fatal error"), text.find("*** "))
        return text[crash:] if crash >= 0 else text[-1500:]

    def stop(self):
        """Ends the daemon if it still runs, and returns its exit code."""
        if self.lives:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        return self.process.returncode
