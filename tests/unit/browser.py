"""A page in headless Chromium, over its debugging protocol: pixels, text and what the console said."""

import base64
import io
import json
import shutil
import subprocess
import time
import urllib.request

import numpy as np

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0",
    "--window-size=900,600",
    "--no-first-run",
]


class Browser:
    """One page; use as a context manager."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder
        self.errors, self.number = [], 0

    def __enter__(self):
        from websockets.sync.client import connect  # comes with viser

        command = [CHROMIUM, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = self.folder / "DevToolsActivePort"
        self.wait(port_file.exists, 60)
        self.wait(lambda: port_file.read_text().count("\n") >= 1, 10)
        port = port_file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            pages = json.load(answer)
        target = next(page for page in pages if page["type"] == "page")["webSocketDebuggerUrl"]
        self.socket = connect(target, max_size=None)
        for domain in ("Runtime", "Page", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=self.url)
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)

    def wait(self, condition, seconds):
        """Until it holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{self.url}: not after {seconds} s; {self.errors}"
            time.sleep(0.1)

    def call(self, method, **parameters):
        """What the browser answers."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=120))
            kind, said = message.get("method"), message.get("params", {})
            if kind == "Runtime.exceptionThrown":
                self.errors.append(said["exceptionDetails"].get("text", "exception"))
            if kind == "Runtime.consoleAPICalled" and said["type"] == "error":
                self.errors.append(str(said["args"]))
            if kind == "Log.entryAdded" and said["entry"]["level"] == "error":
                self.errors.append(said["entry"]["text"])
            if message.get("id") == self.number:
                return message.get("result", message)

    def value(self, expression):
        """Of JavaScript on the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self):
        """(height, width, 3) of the left part, where the scene is, and no message or panel."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)[160:540, :560]

    def pixel(self, point):
        """Where a place of the scene [m] is in the window, by three.js itself; None: out of sight."""
        x, y, z = (float(c) for c in point)
        return self.value(f"""(() => {{
          const {{ camera, canvas, nodeRefFromName }} = window.__viserMutable, box = canvas.getBoundingClientRect();
          const at = camera.position.clone().set({x}, {y}, {z});
          at.applyMatrix4(nodeRefFromName[""].matrixWorld).project(camera);
          const [u, v] = [box.left + box.width * (0.5 + 0.5 * at.x), box.top + box.height * (0.5 - 0.5 * at.y)];
          return document.elementFromPoint(u, v) === canvas ? [u, v] : null;
        }})()""")

    def click(self, x, y):
        """With the left button."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            pressed = 1 if kind == "mousePressed" else 0
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=pressed, clickCount=1)

    def text(self):
        """All that can be read."""
        return self.value("document.body.innerText") or ""

    def click_on(self, selector):
        """The middle of the first element of this kind."""
        where = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        self.click(
            *self.value(f"(() => {{ const b = {where}; return [b.left + b.width / 2, b.top + b.height / 2] }})()")
        )
