"""Chromium over the DevTools protocol, through a pair of pipes: no websocket, no driver."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = "/usr/bin/chromium"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Browser:
    """One page of a headless browser. `events` holds all that the protocol has told so far."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="hitpath-chromium-")
        read_commands, self.to_browser = os.pipe()
        self.from_browser, write_replies = os.pipe()
        # The browser reads commands on descriptor 3 and writes replies on 4.
        script = f'exec "$@" 3<&{read_commands} 4>&{write_replies}'
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                script,
                "chromium",
                CHROMIUM,
                *_FLAGS,
                f"--user-data-dir={self.profile}",
            ],
            pass_fds=(read_commands, write_replies),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_replies)
        self.buffer = b""
        self.number = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its result; events that come before it are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                result: dict[str, Any] = reply["result"]
                return result
            self.events.append(reply)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_browser], [], [], 60)
            part = os.read(self.from_browser, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, path: Path, width: int = 1280, height: int = 900) -> None:
        """Load a file and wait until it is complete."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Page.navigate", url=path.as_uri())
        deadline = time.monotonic() + 30
        while self.run("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.02)

    def colours(self, scheme: str) -> None:
        """What the system prefers: `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def click(self, selector: str) -> None:
        """A click of the mouse in the middle of an element."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """What is seen, or the page from top to end, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions."""
        found = []
        for event in self.events:
            method, told = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(told["exceptionDetails"]))
            if method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                found.append(told["entry"]["text"])
            if method == "Runtime.consoleAPICalled":
                found.append(str(told["args"]))
        return found

    def requests(self) -> list[str]:
        """Every address that the page asked for."""
        sent = (e for e in self.events if e.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def close(self) -> None:
        """End the browser and remove its profile."""
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            self.process.kill()
        self.process.wait(timeout=30)
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)
