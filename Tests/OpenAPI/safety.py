"""Keeps generated calls on this machine: none makes the daemon send requests to other hosts, and none waits long."""
import re


def made_safe(case):
    if isinstance(case.query, dict) and re.fullmatch(r"\d+(ms|s|m|h|d)", str(case.query.get("wait", ""))):
        case.query["wait"] = "20ms"
    # The system chooses a free port, since another program may use a fixed one.
    if case.path.endswith("/worlds") and isinstance(case.body, dict):
        for name in ("listen", "smtp"):
            if isinstance(case.body.get(name), int) and 0 < case.body[name] <= 65535:
                case.body[name] = 0
    if isinstance(case.body, (dict, list, str)):
        case.body = local(case.body)


def local(value):
    """Replaces addresses in a seed, to which the daemon may send requests, by one at which nothing listens."""
    if isinstance(value, dict):
        return {name: local(member) for name, member in value.items()}
    if isinstance(value, list):
        return [local(element) for element in value]
    if isinstance(value, str) and re.match(r"https?://", value):
        return "http://127.0.0.1:9/nobody"
    return value
