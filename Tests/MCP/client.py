"""`understudy mcp` as assistants meet it: the protocol's own client calls every tool, in the stateless revision and in the
last one that begins with `initialize`.

    client.py BINARY
"""

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request

import anyio
import jsonschema
from mcp import Client, MCPError, StdioServerParameters

BINARY = sys.argv[1]
DOCUMENTATION = os.path.join(os.path.dirname(__file__), "..", "..", "docs")
NATIVE = {"client": "com.example.app", "account": "ada", "scopes": ["email"]}

# Every tool with arguments that it takes, or how they follow from the answers so far, and a member of its answer; `None` where the answer is text alone.
CALLS = [
    ("check_health", {}, "version"),
    ("app_environment", {"world": "w1"}, "variables"),
    ("sign_in_natively", NATIVE, "identityToken"),
    ("list_sign_ins", {"refused": False, "limit": 2}, "flows"),
    ("show_request", lambda answers: {"id": answers["list_sign_ins"]["last"]}, "status"),
    ("explain_value", {"value": "https://example.com/callback?error=access_denied"}, "parts"),
    ("explain_error", {"error": "invalid_grant", "provider": "apple"}, "errors"),
    ("order_outcome", {"provider": "github", "outcome": "cancel", "times": None}, "id"),
    ("order_fault", {"match": {"host": "appleid.apple.com"}, "effect": {"delay": "1ms"}}, "id"),
    ("list_endpoints", {"host": "apple"}, "endpoints"),
    ("list_orders", {}, "outcomes"),
    ("remove_orders", {}, "removed"),
    ("list_scenarios", {}, "scenarios"),
    ("play_scenario", {"name": "provider-outage"}, "advice"),
    ("clock", {"advance": "6m"}, "now"),
    ("mint_token", {"provider": "apple", "client": "com.example.app", "claims": {"exp": "-1h"}}, "token"),
    ("save_account", {"id": "max", "apple": {"shareEmail": False}}, "id"),
    ("list_accounts", {"limit": 1}, "accounts"),
    ("read_mail", {"to": "*@example.com", "wait": "10ms"}, "messages"),
    ("read_seed", {"path": "apple.teams"}, "value"),
    ("change_seed", {"seed": {"accounts": [{"id": "eve"}]}, "check": True}, "sound"),
    ("call_control_api", {"method": "GET", "path": "worlds"}, "worlds"),
    ("search_documentation", {"query": "nonce"}, "sections"),
    ("read_documentation", {"page": "orders", "section": "Time"}, None),
    ("reset_world", {}, "reset"),
]


async def call(client, name, arguments):
    """Calls a tool, and returns its answer as JSON or as text. If there are both, they must agree."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, (name, result)
    text = result.content[0].text
    if result.structured_content is None:
        return text
    assert json.loads(text) == result.structured_content, name
    return result.structured_content


async def refusal(client, name, arguments):
    result = await client.call_tool(name, arguments)
    assert result.is_error and result.structured_content is None, (name, result)
    return result.content[0].text


async def check_tools(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {name for name, _, _ in CALLS}, set(tools) ^ {name for name, _, _ in CALLS}
    answers = {}
    for name, arguments, member in CALLS:
        arguments = arguments(answers) if callable(arguments) else arguments
        schema = tools[name].input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(arguments, schema)
        assert tools[name].output_schema is None, name
        answer = answers[name] = await call(client, name, arguments)
        assert member is None or member in answer, (name, answer)
        wrong = {**arguments, "nonsense": 1}
        try:
            jsonschema.validate(wrong, schema)
            raise AssertionError(f"{name} would take any arguments")
        except jsonschema.ValidationError:
            pass
        assert "nonsense" in await refusal(client, name, wrong), name
    return len(tools)


async def check_errors(client):
    for ask in (lambda: client.call_tool("no_such_tool", {}), lambda: client.read_resource("understudy://docs/none")):
        try:
            await ask()
            raise AssertionError("was taken")
        except MCPError as error:
            assert error.code in (-32602, -32002), error
    assert "$.outcome" in await refusal(client, "order_outcome", {"provider": "apple", "outcome": "nonsense"})


async def check_prompts(client):
    assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["why_refused", "write_test"]
    made = await client.get_prompt("why_refused", {"client": "com.example.app"})
    assert "com.example.app" in made.messages[0].content.text, made


async def check_resources(client):
    resources = (await client.list_resources()).resources
    pages = {resource.name: str(resource.uri) for resource in resources}
    for name in ("orders", "errors/apple", "assistants"):
        read = await client.read_resource(pages[name])
        with open(os.path.join(DOCUMENTATION, f"{name}.md"), encoding="utf-8") as file:
            assert read.contents[0].text.rstrip() == file.read().rstrip(), name


async def check_cancellation(client):
    """Checks that a waiting call can be cancelled, and that other calls are answered meanwhile."""
    with anyio.move_on_after(0.3):
        await client.call_tool("list_sign_ins", {"client": "none", "wait": "50s"})
        raise AssertionError("nothing was waited for")
    async with anyio.create_task_group() as group:
        found = []

        async def wait():
            found.append(await call(client, "list_sign_ins", {"client": "com.example.app", "wait": "50s"}))

        group.start_soon(wait)
        await call(client, "sign_in_natively", NATIVE)
    assert found[0]["flows"], found


async def check_refusal(client):
    """Checks that an assistant can find out by tools alone why an app's sign-in with Apple fails."""
    variables = (await call(client, "app_environment", {}))["variables"]
    code = (await call(client, "sign_in_natively", NATIVE))["authorizationCode"]
    form = f"grant_type=authorization_code&client_id=com.example.app&client_secret=nonsense&code={code}"
    try:
        urllib.request.urlopen(variables["APPLE_BASE_URL"] + "/auth/token", form.encode())
        raise AssertionError("a client secret that is none was taken")
    except urllib.error.HTTPError as error:
        assert error.code == 400
    sign_in = (await call(client, "list_sign_ins", {"refused": True}))["flows"][-1]
    step = sign_in["steps"][-1]
    assert step["path"] == "/auth/token" and "ES256" in step["diagnosis"], step
    assert len(sign_in["steps"]) == 2, sign_in
    shown = await call(client, "show_request", {"id": step["id"]})
    assert "nonsense" in shown["request"]["body"]
    assert not (await call(client, "explain_value", {"value": "eyJhbGciOiJub25lIn0.e30."}))["sound"]


async def check(mode, revision):
    server = StdioServerParameters(command=BINARY, args=["mcp", "--start", "--port", "0", "--log-level", "critical"])
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        assert client.protocol_version == revision, client.protocol_version
        if mode != revision:
            assert client.server_info.name == "understudy" and client.instructions
        count = await check_tools(client)
        await check_errors(client)
        await check_resources(client)
        await check_prompts(client)
        await check_cancellation(client)
        await check_refusal(client)
    print(f"{revision}: {count} tools, as the protocol's client has them", flush=True)


async def main():
    await check("auto", "2026-07-28")
    await check("2026-07-28", "2026-07-28")
    await check("legacy", "2025-11-25")


asyncio.run(main())
