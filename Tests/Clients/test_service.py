"""Tests of a daemon that gets a listening socket, as a service manager passes it."""

import os
import signal
import socket
import subprocess
import unittest
import urllib.request

BINARY = os.environ["UNDERSTUDY_BINARY"]


class SocketActivation(unittest.TestCase):
    def start(self, listener, **variables):
        # LISTEN_PID must be the daemon's own process ID, which only the shell that becomes the daemon knows.
        script = f'exec env LISTEN_PID={variables.pop("pid", "$$")} LISTEN_FDS=1 "$0" serve --port 0 --log-level error 3<&{listener.fileno()}'
        return subprocess.Popen(
            ["bash", "-c", script, BINARY], stdout=subprocess.PIPE, text=True, pass_fds=[listener.fileno()])

    def test_socket_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            daemon = self.start(listener)
            self.assertEqual(daemon.stdout.readline(), f"understudy listening on http://127.0.0.1:{port}\n")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_understudy/v1/health") as answer:
            self.assertEqual(answer.status, 200)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(timeout=300), 0)
        daemon.stdout.close()

    def test_another_process_s_socket_is_left_alone(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            daemon = self.start(listener, pid="1")
            self.assertNotIn(f":{listener.getsockname()[1]}\n", daemon.stdout.readline())
        daemon.terminate()
        daemon.wait(timeout=300)
        daemon.stdout.close()


if __name__ == "__main__":
    unittest.main()
