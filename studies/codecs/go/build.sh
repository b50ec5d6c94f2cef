#!/bin/sh
# Makes a contender in Go: build.sh SOURCE BUILD. Ends with 69 where Go is too old, and may not
# or can't fetch a newer toolchain for itself: then the contender is absent. Where SOURCE has a
# program `generate`, it is started there with BUILD, and makes what is to be built as well.
set -eu
cd "$1"
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
if [ -f generate ]; then ./generate "$2"; fi
# Without a stamp of the version control, which would need it and its trust.
exec go build -buildvcs=false -o "$2/codec" .
