"""A tool of your own: a function of this program that the agent calls. (The mock agent calls none.)

    python examples/custom_tool.py --engine claude "what is the weather in Oslo?"

The program serves its tool by MCP on a port of this machine, tells the folder about it, and drives the session.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from footplate.sdk import Allow, Client, RequestInfo

NAME = "example"
TOOL = {
    "name": "weather",
    "description": "The weather in a city",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def weather(city: str) -> str:
    """Your own code. It runs here, with everything this program has."""
    return f"In {city} it rains, 9 degrees."


class Tools(BaseHTTPRequestHandler):
    """As much of MCP as a tool needs: one JSON answer for each POST."""

    def do_POST(self) -> None:
        """Answer one message."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result: dict[str, object] = {}
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": NAME, "version": "1"}
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [TOOL]}
            case "tools/call":
                told = weather(**message["params"]["arguments"])
                print(f"tool called: {told}", flush=True)
                result = {"content": [{"type": "text", "text": told}]}
        if "id" not in message:
            self.send_response(202)
            self.end_headers()
            return
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """There is no stream."""
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


async def run(engine: str, prompt: str, port: int) -> None:
    """One prompt with the tool at hand; only our own tool is allowed unasked."""

    def answer(request: RequestInfo) -> Allow | None:
        return Allow() if request.tool == f"mcp__{NAME}__weather" else None

    async with Client.start() as client:
        folder = str(Path.cwd())
        place = {"directory": folder, "mcpName": NAME}
        config = {"type": "http", "url": f"http://127.0.0.1:{port}/"}
        await client.wire.tell("PUT", "/v1/config/mcp", config, params=place)
        try:
            session = await client.create_session(engine, cwd=folder)
            await session.on_request(answer)
            turn = await session.prompt(prompt)
            print(turn.answer or turn.error)
        finally:
            await client.wire.tell("DELETE", "/v1/config/mcp", params=place)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="claude")
    parser.add_argument("prompt")
    given = parser.parse_args()
    with ThreadingHTTPServer(("127.0.0.1", 0), Tools) as tools:
        thread = threading.Thread(target=tools.serve_forever, daemon=True)
        thread.start()
        try:
            asyncio.run(run(given.engine, given.prompt, tools.server_address[1]))
        finally:
            tools.shutdown()
            thread.join()


if __name__ == "__main__":
    main()
