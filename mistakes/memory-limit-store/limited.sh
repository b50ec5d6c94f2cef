#!/bin/sh
# Runs a program with 64 MiB of memory, by the limit of the control group that it
# is in. The group is the trial's own, and goes with it.
limit=67108864
v1=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
v2=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -n "$v1" ]; then
    echo $limit > "/sys/fs/cgroup/memory$v1/memory.limit_in_bytes"
else
    echo $limit > "/sys/fs/cgroup$v2/memory.max" && echo 0 > "/sys/fs/cgroup$v2/memory.swap.max"
fi || exit 1
exec "$@"
