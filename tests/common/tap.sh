# SPDX-License-Identifier: Apache-2.0
# Sourced by tests in bash that record: TAP, a folder of their own, which is removed at the end, and weir in it. The caller has set
# weir to the program's path.
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
failed=0

result() { # result STATUS NAME
	n=$((n + 1))
	[ "$1" = 0 ] && { echo "ok $n - $2"; return; }
	echo "not ok $n - $2"
	failed=1
}

ok() { # ok NAME CONDITION...: with what the last command printed, where it does not hold
	local name=$1
	shift
	"$@" && { result 0 "$name"; return; }
	sed 's/^/# /' out err 2>/dev/null
	result 1 "$name"
}

finish() {
	echo "1..$n"
	exit $failed
}

run() { "$weir" "$@" >out 2>err </dev/null; status=$?; }
is() { [ "$status" = "$1" ]; }
says() { is "$1" && grep -q -- "$2" err && [ "$(wc -l <err)" = 1 ]; } # status, one line that says so

run record -q -o try.trace -- true
if grep -q "cannot load the kernel programs" err; then
	echo "1..0 # SKIP $(head -1 err)"
	exit 0
fi
rm -f try.trace out err
