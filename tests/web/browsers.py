# SPDX-License-Identifier: GPL-3.0-or-later
"""Real browsers without a library: Chromium through chromedriver, Firefox through Marionette.

Both have the same methods. Scripts are bodies of functions; run() returns their value as JSON, and
wait() repeats one until it is true.
"""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEYS = {'Enter': '\ue007', 'Left': '\ue012', 'Right': '\ue014', 'Tab': '\ue004'}


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Browser:
    """What both have in common."""

    def wait(self, script, seconds=20, arguments=()):
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError('not true within %d s: %s' % (seconds, script))
            time.sleep(0.05)

    def press(self, name):
        self.type(KEYS.get(name, name))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Chromium(Browser):
    name = 'Chromium'

    @staticmethod
    def there():
        return shutil.which('chromedriver') and shutil.which('chromium')

    def __init__(self, *flags):
        self.folder = tempfile.mkdtemp(prefix='speclab-chromium-')
        port = free_port()
        self.process = subprocess.Popen(['chromedriver', '--port=%d' % port],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = 'http://127.0.0.1:%d' % port
        try:
            for _ in range(200):
                try:
                    self.call('GET', '/status')
                    break
                except OSError:
                    time.sleep(0.05)
            options = {'args': ['--headless=new', '--no-sandbox', '--disable-gpu',
                                '--disable-dev-shm-usage', '--hide-scrollbars',
                                '--force-prefers-reduced-motion',
                                '--user-data-dir=' + self.folder, *flags],
                       'binary': shutil.which('chromium')}
            answer = self.call('POST', '/session', {'capabilities': {'alwaysMatch': {
                'goog:chromeOptions': options,
                'goog:loggingPrefs': {'browser': 'ALL', 'performance': 'ALL'}}}})
            self.base += '/session/' + answer['sessionId']
        except BaseException:
            self.process.terminate()
            raise

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={'Content-Type': 'application/json'})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None

    def devtools(self, command, **parameters):
        return self.call('POST', '/goog/cdp/execute', {'cmd': command, 'params': parameters})

    def open(self, url):
        self.call('POST', '/url', {'url': url})

    def run(self, script, *arguments):
        return self.call('POST', '/execute/sync', {'script': script, 'args': list(arguments)})

    def element(self, selector):
        found = self.call('POST', '/element', {'using': 'css selector', 'value': selector})
        return list(found.values())[0]

    def click(self, selector):
        self.call('POST', '/element/%s/click' % self.element(selector), {})

    def type(self, keys):
        actions = [{'type': kind, 'value': key} for key in keys for kind in ('keyDown', 'keyUp')]
        self.call('POST', '/actions', {'actions': [{'type': 'key', 'id': 'k', 'actions': actions}]})

    def size(self, width, height):
        self.devtools('Emulation.setDeviceMetricsOverride', width=width, height=height,
                      deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.devtools('Emulation.setEmulatedMedia',
                      features=[{'name': 'prefers-color-scheme', 'value': name}])

    def picture(self, path, whole=True):
        shot = self.devtools('Page.captureScreenshot', captureBeyondViewport=whole)
        with open(path, 'wb') as file:
            file.write(base64.b64decode(shot['data']))

    def complaints(self):
        """Lines of the console that are warnings or errors."""
        return [line['message'] for line in self.call('POST', '/se/log', {'type': 'browser'})
                if line['level'] in ('SEVERE', 'WARNING')]

    def requests(self):
        """Addresses that were asked for, but those inside the page."""
        found = []
        for line in self.call('POST', '/se/log', {'type': 'performance'}):
            message = json.loads(line['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                found.append(message['params']['request']['url'])
        return [url for url in found if url.startswith(('http:', 'https:', 'ws', 'file:'))]

    def close(self):
        try:
            self.call('DELETE', '')
        finally:
            self.process.terminate()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


class Firefox(Browser):
    name = 'Firefox'

    @staticmethod
    def there():
        return shutil.which('firefox-esr') or shutil.which('firefox')

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='speclab-firefox-')
        port = free_port()
        with open(os.path.join(self.folder, 'user.js'), 'w') as file:
            file.write('user_pref("marionette.port", %d);\n' % port)
            file.write('user_pref("ui.prefersReducedMotion", 1);\n')
        self.process = subprocess.Popen(
            [Firefox.there(), '--headless', '--marionette', '--no-remote', '--profile',
             self.folder],
            env={**os.environ, 'HOME': self.folder}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                try:
                    self.socket = socket.create_connection(('127.0.0.1', port), timeout=120)
                    break
                except OSError:
                    time.sleep(0.1)
            self.number = 0
            self.read()
            self.call('WebDriver:NewSession', capabilities={})
        except BaseException:
            self.process.terminate()
            raise

    def read(self):
        length = b''
        while (character := self.socket.recv(1)) != b':':
            length += character
        body = b''
        while len(body) < int(length):
            body += self.socket.recv(int(length) - len(body))
        return json.loads(body)

    def call(self, command, **parameters):
        self.number += 1
        message = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b'%d:%s' % (len(message), message))
        _, _, error, value = self.read()
        if error:
            raise RuntimeError(error)
        return value

    def open(self, url):
        self.call('WebDriver:Navigate', url=url)

    def run(self, script, *arguments):
        return self.call('WebDriver:ExecuteScript', script=script, args=list(arguments),
                         sandbox=None)['value']

    def click(self, selector):
        found = self.call('WebDriver:FindElement', using='css selector', value=selector)['value']
        self.call('WebDriver:ElementClick', id=list(found.values())[0])

    def type(self, keys):
        actions = [{'type': kind, 'value': key} for key in keys for kind in ('keyDown', 'keyUp')]
        self.call('WebDriver:PerformActions',
                  actions=[{'type': 'key', 'id': 'k', 'actions': actions}])

    def size(self, width, height):
        self.call('WebDriver:SetWindowRect', width=width, height=height)

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
