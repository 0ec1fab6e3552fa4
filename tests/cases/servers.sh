# SPDX-License-Identifier: Apache-2.0
# What the cases with servers share. Source it: . "$(dirname "$0")/../servers.sh"
# All servers listen on sockets in the working directory or on loopback; $PWD/*.pid names those that `servers_end` ends.
PATH=$PATH:/usr/sbin:/sbin
for folder in /usr/lib/postgresql/*/bin; do
	PATH=$PATH:$folder
done

# as_user COMMAND...: becomes COMMAND, as nobody where the caller is root, because databases refuse to run as root. It may use the working
# directory, wherever that is.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		exec setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override "$@"
	else
		exec "$@"
	fi
}

# await COMMAND...: until it succeeds, for ten seconds at most
await() {
	tries=500
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "waited in vain for: $*" >&2; return 1; }
		sleep 0.02
	done
}

# await_size FILE BYTES: until the file is so long. Looks at its size alone, as who reads the file is what some cases are about.
await_size() {
	await eval "[ \"\$(stat -c %s $1)\" = $2 ]"
}

# redis_start [OPTION...]: in the background; the server is a program that looks at the name under which it is started
redis_start() {
	ln -sf "$(command -v redis-check-rdb)" redis-server
	./redis-server --port 0 --unixsocket redis.sock --pidfile redis.pid --dir . --save '' "$@" >redis.out 2>&1 &
	echo $! >redis.pid
	await grep -q 'eady to accept' redis.out
}

# postgres_make: an empty cluster in db, for prepare; the user is weir. Skips the case where PostgreSQL is missing.
postgres_make() {
	command -v initdb >/dev/null || { echo 'needs postgres'; exit 77; }
	(as_user initdb -D db -U weir -A trust -N --no-instructions -E UTF8 --locale=C --wal-segsize=1) >initdb.out 2>&1
	cat >>db/postgresql.conf <<-END
	listen_addresses = ''
	unix_socket_directories = '$PWD'
	shared_buffers = 8MB
	END
}

# postgres_start: in the background, on a socket in the working directory
postgres_start() {
	as_user postgres -D db >postgres.out 2>&1 &
	echo $! >postgres.pid
	await grep -q 'ready to accept' postgres.out
}

# mariadb_run <SQL: a server that starts, runs the statements that it reads, and ends; its files are in db
mariadb_run() {
	(as_user mariadbd --no-defaults --bootstrap --skip-grant-tables --skip-networking --datadir="$PWD/db" --tmpdir="$PWD" \
		--aria-log-dir-path="$PWD/db" --innodb-log-file-size=4M --innodb-buffer-pool-size=8M)
}

# free_port: writes the number of a port on loopback that nobody uses to the file port. For prepare.
free_port() {
	/usr/bin/python3 -ISc 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])' >port
}

# nginx_start TEXT: one worker with TEXT in its http section
nginx_start() {
	mkdir -p html tmp
	cat >nginx.conf <<-END
	daemon off;
	$([ "$(id -u)" != 0 ] || echo 'user root root;')
	worker_processes 1;
	pid nginx.master;
	error_log error.log;
	events { worker_connections 64; }
	http {
		types { text/html html; }
		client_body_temp_path tmp/body; proxy_temp_path tmp/proxy; fastcgi_temp_path tmp/fastcgi;
		uwsgi_temp_path tmp/uwsgi; scgi_temp_path tmp/scgi;
		root html;
		keepalive_requests 100000;
		$1
	}
	END
	chmod 755 . html
	nginx -p "$PWD" -e error.log -c "$PWD/nginx.conf" >nginx.out 2>&1 &
	echo $! >nginx.pid
	await test -s nginx.master
}

# The action that writes the plain messages to app.log, through a buffer.
plain_log() {
	echo 'template(name="plain" type="string" string="%msg:2:$%\n")'
	echo "action(type=\"omfile\" file=\"$PWD/app.log\" template=\"plain\" asyncWriting=\"on\" ioBufferSize=\"64k\")"
}

# rotate_conf MORE: a configuration of logrotate for app.log, for prepare
rotate_conf() {
	printf '%s {\n\trotate 4\n\tnocompress\n\t%s\n}\n' "$PWD/app.log" "$1" >rotate.conf
	chmod 644 rotate.conf
}

# rsyslog_start TEXT [BATCH]: TEXT are rules; messages are taken from the socket log.sock, BATCH of them at a time
rsyslog_start() {
	cat >rsyslog.conf <<-END
	global(workDirectory="$PWD")
	module(load="imuxsock" SysSock.Use="off")
	main_queue(queue.dequeueBatchSize="${2:-1024}")
	input(type="imuxsock" Socket="$PWD/log.sock" RateLimit.Interval="0")
	$1
	END
	rsyslogd -n -f rsyslog.conf -i "$PWD/rsyslog.pid" >rsyslog.out 2>&1 &
	await test -S log.sock
}

# servers_end: ends what was started here and waits until it is gone
servers_end() {
	for file in *.pid; do
		[ -s "$file" ] || continue
		pid=$(head -n 1 "$file")
		kill "$pid" 2>/dev/null || continue
		wait "$pid" 2>/dev/null || await sh -c "! grep -qs '^State:.[^Z]' /proc/$pid/status"
	done
}
