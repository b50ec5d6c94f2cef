#!/bin/sh
# Makes the server: build.sh BUILD. Ends with 69 where Go is too old, and may not
# or can't fetch a newer toolchain for itself: then the contender is absent.
set -eu
cd "$(dirname "$0")"
if ! said=$(go list -m 2>&1); then
    echo "$said"
    wanted=$(sed -n 's/^go //p' go.mod)
    echo "it takes Go $wanted or newer (https://go.dev/dl), and here is $(cd / && go env GOVERSION)"
    exit 69
fi
# Without a stamp of the version control, which would need it and its trust.
exec go build -buildvcs=false -o "$1/hello" .
