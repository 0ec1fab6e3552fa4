# SPDX-License-Identifier: Apache-2.0
"""A ClickHouse of a test's own: Debian's server, in a folder that goes with the test."""
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

SERVERS = ['/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server']
CONFIG = """<yandex><logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<http_port>{1}</http_port><tcp_port>{2}</tcp_port><listen_host>127.0.0.1</listen_host>{3}
<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><user_files_path>{0}/files/</user_files_path><users_config>{0}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>"""
USERS = """<yandex><profiles><default/></profiles><users><{0}><password>{1}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></{0}></users><quotas><default/></quotas></yandex>"""


def program():
    """None: it is not installed."""
    return next((p for p in SERVERS if os.access(p, os.X_OK)), None)


def free_ports(count):
    taken = [socket.socket() for _ in range(count)]
    for s in taken:
        s.bind(('127.0.0.1', 0))
    ports = [s.getsockname()[1] for s in taken]
    for s in taken:
        s.close()
    return ports


class Server:
    """Answers when it is made. `more` goes into its configuration."""

    def __init__(self, folder, user='default', password='', more=''):
        self.port, native = free_ports(2)
        escaped = password.replace('&', '&amp;').replace('<', '&lt;')
        for name, text in (('config.xml', CONFIG.format(folder, self.port, native, more)), ('users.xml', USERS.format(user, escaped))):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(text)
        self.process = subprocess.Popen([program(), f'--config-file={folder}/config.xml'], cwd=folder,  # pylint: disable=consider-using-with
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/ping'):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise RuntimeError(f'clickhouse-server does not answer, see {folder}/errors')

    def address(self, database='weir'):
        return f'clickhouse://127.0.0.1:{self.port}/{database}'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
