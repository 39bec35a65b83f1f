"""Chromium without a window, spoken to by the WebDriver protocol (W3C) over HTTP."""
import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

WAIT_S = 20
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's id, as the protocol fixes it
KEYS = {"Enter": "\ue007", "Down": "\ue015", "Up": "\ue013", "End": "\ue010", "Home": "\ue011", "PageDown": "\ue00f", "Escape": "\ue00c", "Tab": "\ue004"}


def missing():
    """What this machine lacks; empty: nothing."""
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class Browser:
    """One browser with an empty profile. Leaving ends it."""

    def __init__(self, folder, width=1500, height=1000):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "started successfully on port" in line:
                break
        self.url = f"http://127.0.0.1:{line.split('port')[1].strip(' .' + os.linesep)}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}",
                     f"--user-data-dir={folder}"]
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.url += f"/session/{made['sessionId']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.communicate()

    def ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else (b"{}" if method == "POST" else None)
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a function's body in the page; a promise is waited for."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": arguments})

    def find(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Keys for what has the focus."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def wait(self, script, *arguments):
        """Until the script's value is true; the value."""
        end = time.monotonic() + WAIT_S
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            assert time.monotonic() < end, (script, self.text("body"))
            time.sleep(0.05)

    def cookies(self):
        return self.ask("GET", "/cookie")

    def messages(self):
        """The console's messages since the last call."""
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))
