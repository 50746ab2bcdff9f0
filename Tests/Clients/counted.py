"""Runs a command in a network whose only way out is a wire that ends here, and counts what went out by it: TCP, UDP and
whatever else is asked over IP, name servers included. What stays on loopback isn't on the wire.

usage: counted.py REPORT COMMAND…, in a network namespace of its own (`unshare --net`). The count and what it was go to the
file REPORT.
"""

import ipaddress
import select
import socket
import subprocess
import sys

SETUP = """
link set lo up
link add out type veth peer name wire
link set wire up
link set out up
address add 10.99.0.1/24 dev out
address add fd99::1/64 dev out nodad
neighbour add 10.99.0.2 lladdr 02:00:00:00:00:02 dev out
neighbour add fd99::2 lladdr 02:00:00:00:00:02 dev out
route add default via 10.99.0.2
-6 route add default via fd99::2
"""
OUTGOING = 4
ICMPV6_OR_OPTIONS = (58, 0)


def destination(frame):
    """Returns the destination of a frame's packet, or None for the network's own packets: ARP, and IPv6's
    neighbours."""
    kind, packet = frame[12:14], frame[14:]
    if kind == b"\x08\x00":
        protocol, place = packet[9], packet[16:20]
    elif kind == b"\x86\xdd" and packet[6] not in ICMPV6_OR_OPTIONS:
        protocol, place = packet[6], packet[24:40]
    else:
        return None
    size = 4 * (packet[0] & 15) if kind == b"\x08\x00" else 40
    port = int.from_bytes(packet[size + 2:size + 4], "big") if protocol in (6, 17) else 0
    return f"{ipaddress.ip_address(place)} protocol {protocol} port {port}"


def main(report, *command):
    for line in SETUP.strip().splitlines():
        subprocess.run(["ip", *line.split()], check=True)
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sniffer.bind(("out", 0))
    process = subprocess.Popen(command)
    left = []
    quiet = False
    while not quiet:
        # Once it has ended, what is still underway is waited for.
        quiet = process.poll() is not None
        while select.select([sniffer], [], [], 0.1)[0]:
            frame, address = sniffer.recvfrom(65535)
            place = destination(frame) if address[2] == OUTGOING else None
            if place:
                left.append(place)
    with open(report, "w", encoding="utf-8") as file:
        file.write(f"{len(left)} {' '.join(sorted(set(left)))}")
    return process.returncode


sys.exit(main(*sys.argv[1:]))
