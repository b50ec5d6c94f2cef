#!/bin/sh
# Makes the program: build.sh BUILD. Ends with 69 where Go is too old, and may not
# or can't fetch a newer toolchain for itself: then the contender is absent.
set -eu
cd "$(dirname "$0")"
if ! said=$(go list -m 2>&1); then
    echo "$said"
    wanted=$(sed -n 's/^go //p' go.mod)
    # Not where go.mod is, which it couldn't read either.
    here=$(cd / && go env GOVERSION)
    older=$(printf '%s\n' "go$wanted" "$here" | sort -V | head -n 1)
    # What a Go that is new enough complains of is a failure.
    if [ "$older" = "go$wanted" ]; then exit 1; fi
    echo "it takes Go $wanted or newer (https://go.dev/dl), and here is $here"
    exit 69
fi
# Without a stamp of the version control, which would need it and its trust.
exec go build -buildvcs=false -o "$1/messages" .
