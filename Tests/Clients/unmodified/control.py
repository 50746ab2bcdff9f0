"""Orders to the daemon, past any proxy."""

import json
import os
import urllib.request

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def control(path, **body):
    request = urllib.request.Request(f"{os.environ['UNDERSTUDY_CONTROL_URL']}/{path}", data=json.dumps(body).encode())
    with DIRECT.open(request) as answer:
        return json.load(answer)


def recorded(query):
    with DIRECT.open(f"{os.environ['UNDERSTUDY_CONTROL_URL']}/requests?{query}") as answer:
        return json.load(answer)["requests"]
