#!/bin/sh
# Makes the server on Netty for one transport: build.sh epoll|io_uring BUILD
set -eu
here=$(dirname "$0")
transport=$1 build=$2
"$here/../jvm/compile" 17 "$here" "$build"
# Says so where the machine doesn't permit the transport: then it is absent.
exec "$build/jdk/bin/java" -cp "$build/classes:$build/lib/*" Probe "$transport"
