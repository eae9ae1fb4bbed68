"""The two servers, and the faults that a scenario asks for."""

import os
import urllib.request

import redis


class Server:
    """A Redis server; ``raw`` is a connection that no lock library uses."""

    name = "plain"

    def __init__(self, host, port):
        self.host, self.port = host, int(port)
        self.raw = redis.Redis(self.host, self.port, socket_timeout=10)

    def kill_master(self):
        """A plain server has none that it could do without."""

    def heal(self):
        """Nothing was killed."""

    def restart(self):
        """Make clients see what they see of a restarted proxy: the locks are
        still there, but the connections and the script cache are gone."""
        self.raw.script_flush()
        self.raw.client_kill_filter(_type="normal", skipme=True)


class Proxy(Server):
    """The proxy, whose faults are made by the runner at ``control``."""

    name = "proxy"

    def __init__(self, host, port, control):
        super().__init__(host, port)
        self.control = control

    def kill_master(self):
        self._ask("kill-master")

    def heal(self):
        self._ask("heal")

    def restart(self):
        self._ask("restart-proxy")

    def _ask(self, fault):
        request = urllib.request.Request(f"{self.control}/{fault}", method="POST")
        with urllib.request.urlopen(request, timeout=60):
            pass


def from_environment():
    """The plain server and the proxy."""
    env = os.environ
    return (
        Server(env["PLAIN_HOST"], env["PLAIN_PORT"]),
        Proxy(env["PROXY_HOST"], env["PROXY_PORT"], env["CONTROL_URL"]),
    )
