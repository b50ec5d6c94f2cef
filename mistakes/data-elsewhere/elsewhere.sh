#!/bin/sh
# Starts a store with its data beside this file. Each port has a folder of its own, so that a
# trial has no data of another's. `build` is gone with the set-up, and isn't looked at for changes.
folder=$(dirname "$0")/build/data-$PORT
mkdir -p "$folder" || exit 1
exec "$@" --dir "$folder"
