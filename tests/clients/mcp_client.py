"""The official client of the Model Context Protocol, over HTTP and over standard input and output."""

import asyncio
import functools
import json
import os
import subprocess
import unittest
import urllib.error
import urllib.request

from mcp import Client, MCPError, StdioServerParameters

URL = os.environ["QUIRE_URL"]
QUESTION = "Which of the Tarrabee twins was born first?"


def over_stdio():
    """`quire mcp` on the same books, while the server runs."""
    names = ("QUIRE_HOME", "QUIRE_DATA", "QUIRE_DEVICE", "PATH")
    env = {name: os.environ[name] for name in names}
    return StdioServerParameters(command=os.environ["QUIRE_BIN"], args=["mcp"], env=env)


def post(path, body):
    request = urllib.request.Request(
        URL + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def connected(test):
    """A test with a client of its own, which begins and ends in one task."""

    @functools.wraps(test)
    async def run(self):
        async with Client(self.server()) as self.agent:
            await test(self)

    return run


class Tools:
    """The same for both transports: `server` is what the client connects to."""

    async def call(self, name, **arguments):
        result = await self.agent.call_tool(name, arguments)
        self.assertFalse(result.is_error, result.content)
        # The text is the same document, for clients that read no other.
        self.assertEqual(json.loads(result.content[0].text), result.structured_content)
        return result.structured_content

    @connected
    async def test_the_tools_say_what_they_are(self):
        self.assertEqual(self.agent.server_info.name, "quire")
        tools = {tool.name: tool for tool in (await self.agent.list_tools()).tools}
        self.assertEqual(sorted(tools), ["answer", "fetch", "search"])
        for tool in tools.values():
            self.assertTrue(tool.annotations.read_only_hint)
            self.assertFalse(tool.annotations.open_world_hint)
            self.assertIn("required", tool.output_schema)

    @connected
    async def test_a_search_finds_what_the_service_finds(self):
        found = await self.call("search", query=QUESTION, limit=3)
        hits = post("/v1/search", {"question": QUESTION})["hits"][:3]
        for result, hit in zip(found["results"], hits, strict=True):
            self.assertEqual(result["id"], hit["chunk"])
            self.assertEqual(result["text"], hit["text"])
            self.assertEqual(result["rank"], hit["rank"])
            self.assertEqual(result["ranks"]["dense"], (hit["stages"]["dense"] or {}).get("rank"))

    @connected
    async def test_a_passage_is_read_with_its_neighbours(self):
        found = await self.call("search", query=QUESTION, limit=1)
        place = found["results"][0]
        alone = await self.call("fetch", id=place["id"])
        self.assertEqual((alone["id"], alone["text"]), (place["id"], place["text"]))
        around = await self.call("fetch", id=place["id"], around=2)
        self.assertIn(place["text"], around["text"])
        self.assertEqual(len(around["metadata"]["passages"]), 5)
        following = await self.call("fetch", id=around["metadata"]["next"])
        self.assertNotIn(following["text"], around["text"])
        book = await self.call("fetch", id=place["id"].split(":")[0])
        self.assertIn(alone["metadata"]["chapter"], book["text"].split("\n"))

    @connected
    async def test_an_answer_is_the_services_with_its_evidence(self):
        given = await self.call("answer", question=QUESTION)
        same = post("/v1/answer", {"question": QUESTION})
        self.assertEqual(given["answer"], same["answer"]["text"])
        self.assertTrue(given["extractive"])
        items = same["evidence"]["items"]
        self.assertEqual([item["ids"] for item in given["evidence"]], [i["chunks"] for i in items])
        cited = given["evidence"][given["citation"]["evidence"] - 1]
        self.assertIn(given["citation"]["quote"], cited["text"])
        choice = await self.call(
            "answer", question=QUESTION, options=["Wick", "Wack"], abstain=False
        )
        self.assertIn(choice["letter"], ("A", "B"))

    @connected
    async def test_what_cannot_be_done_is_said_with_a_remedy(self):
        for name, arguments, said in [
            ("search", {"query": "  "}, "empty"),
            ("search", {"query": "x", "limit": 51}, "limit"),
            ("search", {"query": "x", "books": ["00000000"]}, "No book"),
            ("fetch", {"id": "zzzz"}, "id"),
            ("fetch", {"id": "00000000:1"}, "No book"),
            ("answer", {"question": "x", "options": ["one"]}, "options"),
        ]:
            result = await self.agent.call_tool(name, arguments)
            self.assertTrue(result.is_error, (name, arguments))
            self.assertIn(said, result.content[0].text)

    @connected
    async def test_wrong_arguments_are_named(self):
        for name, arguments, said in [
            ("search", {"qery": "x"}, "qery"),
            ("search", {"query": 7}, "string"),
            ("fetch", {"id": "a:1", "around": -1}, "-1"),
            ("nothing", {}, "nothing"),
        ]:
            with self.assertRaises(MCPError) as error:
                await self.agent.call_tool(name, arguments)
            self.assertIn(said, str(error.exception))

    @connected
    async def test_many_calls_at_once_do_not_mix(self):
        questions = [QUESTION, "Who rings the bell?", "量水人的朱印缺了什么？"] * 4
        found = await asyncio.gather(*(self.call("search", query=q, limit=2) for q in questions))
        for question, results in zip(questions, found, strict=True):
            again = await self.call("search", query=question, limit=2)
            self.assertEqual(again["results"], results["results"])


class OverHttp(Tools, unittest.IsolatedAsyncioTestCase):
    def server(self):
        return URL + "/mcp"

    @connected
    async def test_a_call_is_in_the_trace_log(self):
        found = await self.call("search", query=QUESTION, limit=1)
        with urllib.request.urlopen(f"{URL}/v1/traces/{found['trace_id']}") as response:
            self.assertEqual(json.load(response)["trace"]["question"], QUESTION)


class OverStdio(Tools, unittest.IsolatedAsyncioTestCase):
    def server(self):
        return over_stdio()

    @connected
    async def test_the_running_service_keeps_its_trace_log(self):
        found = await self.call("search", query=QUESTION, limit=1)
        self.assertIsNone(found["trace_id"])


class Bare(unittest.TestCase):
    """What is no protocol."""

    def status(self, body, method="POST", **headers):
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        request = urllib.request.Request(URL + "/mcp", body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return response.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def test_what_is_no_message_is_refused(self):
        hello = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}}
        ).encode()
        self.assertEqual(self.status(hello), 200)
        self.assertEqual(self.status(hello, Accept="text/plain"), 406)
        self.assertEqual(self.status(hello, Content_Type="text/plain"), 415)
        self.assertIn(self.status(b"{"), (400, 415, 422))
        # A little more than may be: it is sent before it is refused.
        self.assertEqual(self.status(b" " * ((64 << 10) + 1)), 413)
        self.assertEqual(self.status(None, method="GET"), 405)
        self.assertEqual(self.status(hello, Origin="http://elsewhere.example"), 403)

    def test_a_session_of_nothing_ends_quietly(self):
        server = over_stdio()
        ended = subprocess.run(
            [server.command, *server.args], env=server.env, input=b"", capture_output=True, timeout=240
        )
        self.assertEqual((ended.returncode, ended.stdout), (0, b""))


if __name__ == "__main__":
    unittest.main()
